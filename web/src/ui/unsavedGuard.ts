import { unsaved } from './unsaved';

/**
 * Keeps typed text when the browser goes back or closes the window. Called before anything is drawn: who listens to the
 * history first can keep its news from the others.
 */
export function guardUnsaved(): void {
  let place = window.location.href;
  const remember = () => {
    place = window.location.href;
  };
  window.addEventListener('beforeunload', (event) => {
    if (unsaved.isAny) event.preventDefault();
  });
  // The browser has gone already when it says so: it is taken back, and goes again if that is wanted.
  window.addEventListener('popstate', (event) => {
    const isSamePage = new URL(place).pathname === window.location.pathname;
    if (isSamePage || !unsaved.isAny) return remember();
    event.stopImmediatePropagation();
    window.history.pushState(null, '', place);
    unsaved.guard(() => window.history.back());
  });
  // The router's names for its own changes of the address.
  window.addEventListener('pushState', remember);
  window.addEventListener('replaceState', remember);
}
