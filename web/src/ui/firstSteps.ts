import { useSyncExternalStore } from 'react';
import { parseJson, stringifyJson } from '../api/exactNumber';

/** What somebody new does in the first days, in order. */
export const FIRST_STEPS = ['import', 'column', 'try', 'run', 'export'] as const;
export type FirstStep = (typeof FIRST_STEPS)[number];

interface State {
  /** Shown from the first sample on. */
  isStarted: boolean;
  isDismissed: boolean;
  done: FirstStep[];
}

const KEY = 'rowmill:firstSteps';
const listeners = new Set<() => void>();
let state: State | undefined;

function read(): State {
  state ??= kept();
  return state;
}

function kept(): State {
  try {
    const { isStarted, isDismissed, done } = parseJson(localStorage.getItem(KEY) ?? '{}') as Partial<State>;
    return { isStarted: isStarted === true, isDismissed: isDismissed === true, done: FIRST_STEPS.filter((step) => done?.includes(step)) };
  } catch {
    return { isStarted: false, isDismissed: false, done: [] };
  }
}

function write(next: State): void {
  state = next;
  try {
    localStorage.setItem(KEY, stringifyJson(next));
  } catch {
    // Storage may be blocked or full; the page works without it.
  }
  for (const listener of listeners) listener();
}

/** Shows the list to somebody who opens a sample. One that was dismissed stays so. */
export function startFirstSteps(): void {
  if (!read().isStarted) write({ ...read(), isStarted: true });
}

/** Ticks a step off. Nothing is noted before the list is shown. */
export function tickFirstStep(step: FirstStep): void {
  const { isStarted, done } = read();
  if (isStarted && !done.includes(step)) write({ ...read(), done: [...done, step] });
}

export function dismissFirstSteps(): void {
  write({ ...read(), isDismissed: true });
}

export function useFirstSteps(): State {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, read);
}
