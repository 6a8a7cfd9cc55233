import { type RefObject, useEffect, useRef } from 'react';

/** Closes a popover on Escape even if the focus is outside it. With the focus inside, the popover handles the key itself. */
export function useEscapeOutside(isOpen: boolean, inside: RefObject<HTMLElement | null>, close: () => void): void {
  const current = useRef(close);
  current.current = close;
  useEffect(() => {
    if (!isOpen) return undefined;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || inside.current?.contains(event.target as Node)) return;
      // Stops here, so that one key press closes only one thing.
      event.stopPropagation();
      current.current();
    };
    // In the capture phase, because the grid stops this key.
    window.addEventListener('keydown', onKeyDown, true);
    return () => window.removeEventListener('keydown', onKeyDown, true);
  }, [isOpen, inside]);
}
