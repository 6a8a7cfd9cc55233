/** Copies text. A page without TLS has no clipboard API, so it falls back to the copy command of the browser. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const onCopy = (event: ClipboardEvent) => {
    event.clipboardData?.setData('text/plain', text);
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  document.addEventListener('copy', onCopy, { capture: true, once: true });
  const isDone = document.execCommand('copy');
  document.removeEventListener('copy', onCopy, true);
  if (!isDone) throw new Error('The browser did not copy.');
}
