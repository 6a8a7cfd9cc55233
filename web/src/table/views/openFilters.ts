/** Opens the filters after the current popover has closed. */
export function openFilters(): void {
  openTool('filter');
}

/** Opens a tool of the toolbar, by its icon, after the current popover has closed. */
export function openTool(icon: 'filter' | 'sort'): void {
  setTimeout(() => {
    const tool = document.querySelector<HTMLElement>(`[data-tool=${icon}]`);
    if (tool?.getAttribute('aria-expanded') !== 'true') tool?.click();
  }, 250);
}
