import { useCallback, useState } from 'react';
import { parseJson, stringifyJson } from '../api/exactNumber';

/** State kept in local storage, such as column widths and the open view. */
export function useLocalStorage<T>(name: string, initial: T): [T, (value: T) => void] {
  const key = `rowmill:${name}`;
  const [value, setValue] = useState<T>(() => read(key, initial));
  const store = useCallback(
    (next: T) => {
      setValue(next);
      try {
        localStorage.setItem(key, stringifyJson(next));
      } catch {
        // Storage may be blocked or full; the page works without it.
      }
    },
    [key],
  );
  return [value, store];
}

function read<T>(key: string, initial: T): T {
  try {
    const text = localStorage.getItem(key);
    return text === null ? initial : (parseJson(text) as T);
  } catch {
    return initial;
  }
}
