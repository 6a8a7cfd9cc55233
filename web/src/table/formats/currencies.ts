/** Codes, and the signs that each is written with beside its code. The service knows the same. */
const SIGNS: Readonly<Record<string, readonly string[]>> = {
  USD: ['$', 'US$'],
  EUR: ['€'],
  GBP: ['£'],
  JPY: ['¥', 'JP¥'],
  CNY: ['¥', 'CN¥'],
  INR: ['₹', 'Rs', 'Rs.'],
  CHF: ['Fr', 'Fr.', 'SFr'],
  CAD: ['$', 'C$', 'CA$'],
  AUD: ['$', 'A$', 'AU$'],
  NZD: ['$', 'NZ$'],
  SGD: ['$', 'S$'],
  HKD: ['$', 'HK$'],
  MXN: ['$', 'MX$'],
  BRL: ['R$'],
  SEK: ['kr', 'kr.'],
  NOK: ['kr', 'kr.'],
  DKK: ['kr', 'kr.'],
  PLN: ['zł'],
  CZK: ['Kč'],
  HUF: ['Ft'],
  RON: ['lei'],
  TRY: ['₺'],
  RUB: ['₽'],
  UAH: ['₴'],
  ILS: ['₪'],
  ZAR: ['R'],
  KRW: ['₩'],
  THB: ['฿'],
  PHP: ['₱'],
  AED: [],
};

export const CURRENCIES = Object.keys(SIGNS);

/** Whether amounts in a currency are written with this sign. */
export function isSignOf(sign: string, code: string): boolean {
  return [code, ...(SIGNS[code] ?? [])].some((known) => known.toLowerCase() === sign.toLowerCase());
}

export function isCurrencySign(sign: string): boolean {
  return CURRENCIES.some((code) => isSignOf(sign, code));
}
