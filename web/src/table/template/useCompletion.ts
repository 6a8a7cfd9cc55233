import { type KeyboardEvent, type RefObject, useState } from 'react';
import type { Column } from '../../api/types';
import { type Choice, choicesFor } from './choices';
import { wordBeforeCaret } from './dom';

const LIST_WIDTH = 220;

export interface Completion {
  choices: Choice[];
  active: number;
  left: number;
  top: number;
}

interface Options {
  columns: readonly Column[];
  secrets: readonly string[];
  onChoose: (choice: Choice) => void;
}

/** Autocomplete of the word after `@`: what it offers and which keys move in it. */
export function useCompletion(field: RefObject<HTMLElement | null>, { columns, secrets, onChoose }: Options) {
  const [completion, setCompletion] = useState<Completion>();
  const close = () => setCompletion(undefined);

  const update = () => {
    const word = field.current && wordBeforeCaret(field.current);
    const choices = word ? choicesFor(word.text, columns, secrets) : [];
    if (!word || !field.current || choices.length === 0) return close();
    const frame = field.current.getBoundingClientRect();
    const left = Math.min(word.rect.left - frame.left, frame.width - LIST_WIDTH);
    setCompletion({ choices, active: 0, left, top: word.rect.bottom - frame.top + 6 });
  };

  const choose = (choice: Choice) => {
    onChoose(choice);
    close();
  };

  /** Returns whether the key was for the list. */
  const handleKey = (event: KeyboardEvent): boolean => {
    if (!completion) return false;
    const { choices, active } = completion;
    const chosen = choices[active];
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      const step = event.key === 'ArrowDown' ? 1 : choices.length - 1;
      setCompletion({ ...completion, active: (active + step) % choices.length });
    } else if ((event.key === 'Enter' || event.key === 'Tab') && chosen) choose(chosen);
    else if (event.key === 'Escape') close();
    else return false;
    event.preventDefault();
    return true;
  };

  return { completion, update, close, choose, handleKey };
}
