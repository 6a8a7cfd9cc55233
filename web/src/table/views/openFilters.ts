/** Opens the filters, once what is open now has closed. */
export function openFilters(): void {
  setTimeout(() => {
    const tool = document.querySelector<HTMLElement>('[data-tool=filter]');
    if (tool?.getAttribute('aria-expanded') !== 'true') tool?.click();
  }, 250);
}
