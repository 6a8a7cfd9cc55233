import { useCallback, useEffect, useRef } from 'react';

const PAUSE_MILLISECONDS = 500;

/** Throttles updates: the last value always arrives, urgent values arrive at once. */
export function useThrottled<T>(show: (value: T) => void, isUrgent: (next: T, shown: T | undefined) => boolean): (value: T) => void {
  const state = useRef<{ timer?: ReturnType<typeof setTimeout>; latest?: T; shown?: T }>({});
  const urgent = useRef(isUrgent);
  urgent.current = isUrgent;

  useEffect(() => {
    const { current } = state;
    return () => clearTimeout(current.timer);
  }, []);

  return useCallback(
    (value: T) => {
      const { current } = state;
      const pass = () => {
        clearTimeout(current.timer);
        current.timer = undefined;
        current.shown = current.latest;
        if (current.latest !== undefined) show(current.latest);
      };
      current.latest = value;
      if (urgent.current(value, current.shown)) pass();
      else current.timer ??= setTimeout(pass, PAUSE_MILLISECONDS);
    },
    [show],
  );
}
