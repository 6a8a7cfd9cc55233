import { type RefObject, useEffect, useRef } from 'react';

/** Closes what is open by Escape also when the keyboard is elsewhere. Inside, what is open hears the key itself. */
export function useEscapeOutside(isOpen: boolean, inside: RefObject<HTMLElement | null>, close: () => void): void {
  const current = useRef(close);
  current.current = close;
  useEffect(() => {
    if (!isOpen) return undefined;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || inside.current?.contains(event.target as Node)) return;
      // One press does one thing.
      event.stopPropagation();
      current.current();
    };
    // Before the grid, which keeps this key for itself.
    window.addEventListener('keydown', onKeyDown, true);
    return () => window.removeEventListener('keydown', onKeyDown, true);
  }, [isOpen, inside]);
}
