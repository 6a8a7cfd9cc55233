const LABEL = /^[\p{L}\p{N}_-]+$/u;

/** Whether a text is the address of a web page: with `http://` or `https://`, or beginning with a domain. */
export function isUrl(whole: string): boolean {
  const text = whole.trim();
  if (text === '' || /[\s<>"]/.test(text)) return false;
  const scheme = /^https?:\/\//i.exec(text)?.[0] ?? '';
  const host = text.slice(scheme.length).split(/[/?#]/)[0] ?? '';
  return scheme ? host !== '' : isDomain(host);
}

function isDomain(whole: string): boolean {
  const host = whole.replace(/:\d+$/, '');
  const labels = host.split('.');
  const last = labels[labels.length - 1] ?? '';
  return labels.length > 1 && labels.every((label) => LABEL.test(label)) && /^\p{L}.+$/su.test(last);
}

export function isEmail(whole: string): boolean {
  const text = whole.trim();
  const [name = '', domain = '', ...more] = text.split('@');
  const isPart = (part: string) => part !== '' && !/[\s<>,;:"()]/.test(part);
  const labels = domain.split('.');
  const hasTop = labels.length > 1 && labels.every(Boolean) && (labels[labels.length - 1] ?? '').length >= 2;
  return more.length === 0 && [...text].length <= 320 && isPart(name) && isPart(domain) && hasTop;
}

/** A phone number without what is put between its digits, as `tel:+14155550100`. */
export function readPhone(whole: string): string | undefined {
  const text = whole.trim().toLowerCase();
  const start = text.search(/[ex#]/);
  const extension = start < 0 ? undefined : text.slice(start).replace(/^(ext)*/, '').replace(/^[.x# ]+/, '');
  if (extension !== undefined && !/^\d{1,6}$/.test(extension)) return undefined;
  const number = (start < 0 ? text : text.slice(0, start)).trim().replace(/,+$/, '');
  const digits = number.replace(/[^0-9]/g, '');
  if (digits.length < 6 || digits.length > 15 || !/^(\+|\(\+)?[0-9()\-./ \u00a0\u2011\u2013]+$/.test(number)) return undefined;
  return `tel:${number.includes('+') ? '+' : ''}${digits}${extension === undefined ? '' : `;ext=${extension}`}`;
}
