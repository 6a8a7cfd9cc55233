import { useEffect, useId, useMemo } from 'react';

/**
 * What was typed somewhere and not saved yet. Whatever would throw it away asks here first; the one dialog that asks is
 * `DiscardDialog`.
 */
export class Unsaved {
  readonly #places = new Set<string>();
  readonly #listeners = new Set<() => void>();
  #pending: (() => void) | undefined;

  set(place: string, isUnsaved: boolean): void {
    if (isUnsaved) this.#places.add(place);
    else this.#places.delete(place);
  }

  get isAny(): boolean {
    return this.#places.size > 0;
  }

  /** Acts at once if nothing would be lost, else when somebody has agreed to lose it. */
  guard(act: () => void): void {
    if (!this.isAny) return act();
    this.#wait(act);
  }

  /** What waits for an answer. */
  get pending(): (() => void) | undefined {
    return this.#pending;
  }

  cancel(): void {
    this.#wait(undefined);
  }

  discard(): void {
    const act = this.#pending;
    this.#places.clear();
    this.#wait(undefined);
    act?.();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #wait(act: (() => void) | undefined): void {
    this.#pending = act;
    for (const listener of this.#listeners) listener();
  }
}

export const unsaved = new Unsaved();

/** Says whether something here is unsaved; the answer forgets it at once, before the next drawing. */
export function useUnsaved(isUnsaved: boolean): () => void {
  const place = useId();
  useEffect(() => {
    unsaved.set(place, isUnsaved);
    return () => unsaved.set(place, false);
  }, [place, isUnsaved]);
  return useMemo(() => () => unsaved.set(place, false), [place]);
}
