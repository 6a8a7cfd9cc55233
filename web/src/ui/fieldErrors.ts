import { createContext, useContext } from 'react';

/** What is wrong with the fields of the form around, by the service's names. */
export const FieldErrors = createContext<Record<string, string>>({});

export function useFieldErrors(): Record<string, string> {
  return useContext(FieldErrors);
}
