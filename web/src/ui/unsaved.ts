import { useEffect, useId, useMemo } from 'react';

/**
 * Tracks unsaved changes. Whatever would discard them calls `guard` first; the dialog that asks the user is
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

  /** Runs `act` now if nothing is unsaved, otherwise after the user agrees to discard. */
  guard(act: () => void): void {
    if (!this.isAny) return act();
    this.#wait(act);
  }

  /** The action that waits for the user's answer. */
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

/** Registers unsaved changes. The returned function clears them at once, before the next render. */
export function useUnsaved(isUnsaved: boolean): () => void {
  const place = useId();
  useEffect(() => {
    unsaved.set(place, isUnsaved);
    return () => unsaved.set(place, false);
  }, [place, isUnsaved]);
  return useMemo(() => () => unsaved.set(place, false), [place]);
}
