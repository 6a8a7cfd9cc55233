import { createContext, useContext } from 'react';

/** Errors of the enclosing form, by the API's field names. */
export const FieldErrors = createContext<Record<string, string>>({});

export function useFieldErrors(): Record<string, string> {
  return useContext(FieldErrors);
}
