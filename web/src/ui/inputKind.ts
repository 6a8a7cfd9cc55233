/** Tells the style sheets whether the page was last used by pointer or by key. */
export function watchInputKind(): void {
  const tell = (kind: 'pointer' | 'keys') => () => {
    document.documentElement.dataset.input = kind;
  };
  // In the capture phase, because the grid stops some events.
  window.addEventListener('pointerdown', tell('pointer'), true);
  window.addEventListener('keydown', tell('keys'), true);
}
