import { useEffect, useRef } from 'react';

/** Detects a double click: two quick clicks on the same cell with no other input between them. */
export function useDoubleClick(): (cell: readonly number[], isTouch: boolean) => boolean {
  const last = useRef({ key: '', at: 0, deeds: 0 });
  const deeds = useRef(0);
  useEffect(() => {
    const count = () => {
      deeds.current += 1;
    };
    window.addEventListener('pointerdown', count, true);
    window.addEventListener('keydown', count, true);
    return () => {
      window.removeEventListener('pointerdown', count, true);
      window.removeEventListener('keydown', count, true);
    };
  }, []);
  return (cell, isTouch) => {
    const click = { key: cell.join(), at: Date.now(), deeds: deeds.current };
    const before = last.current;
    const isSoon = click.at - before.at < (isTouch ? 1000 : 500);
    last.current = click;
    return before.key === click.key && isSoon && click.deeds === before.deeds + 1;
  };
}
