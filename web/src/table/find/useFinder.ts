import { useState } from 'react';

/** Whether the bar that finds text is open. */
export interface Finder {
  isOpen: boolean;
  open: () => void;
  close: () => void;
}

export function useFinder(): Finder {
  const [isOpen, setIsOpen] = useState(false);
  const open = () => {
    setIsOpen(true);
    // If it is open already, typing replaces what was looked for before.
    const field = document.getElementById('table-find');
    if (field instanceof HTMLInputElement) field.select();
  };
  return { isOpen, open, close: () => setIsOpen(false) };
}
