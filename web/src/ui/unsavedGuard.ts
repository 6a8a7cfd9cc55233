import { unsaved } from './unsaved';

/**
 * Asks before the browser goes back or closes the window while text is unsaved. Call it before the first render: the
 * first listener on the history can stop the others.
 */
export function guardUnsaved(): void {
  let place = window.location.href;
  const remember = () => {
    place = window.location.href;
  };
  window.addEventListener('beforeunload', (event) => {
    if (unsaved.isAny) event.preventDefault();
  });
  // The browser reports the step after it was made, so it is reverted first and repeated if the user agrees.
  window.addEventListener('popstate', (event) => {
    const isSamePage = new URL(place).pathname === window.location.pathname;
    if (isSamePage || !unsaved.isAny) return remember();
    event.stopImmediatePropagation();
    window.history.pushState(null, '', place);
    unsaved.guard(() => window.history.back());
  });
  // Events the router fires for its own navigation.
  window.addEventListener('pushState', remember);
  window.addEventListener('replaceState', remember);
}
