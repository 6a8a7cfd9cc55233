/** Opens the filters after the current popover has closed. */
export function openFilters(): void {
  setTimeout(() => {
    const tool = document.querySelector<HTMLElement>('[data-tool=filter]');
    if (tool?.getAttribute('aria-expanded') !== 'true') tool?.click();
  }, 250);
}
