import { useMutation, useQueryClient } from '@tanstack/react-query';
import { setSpending } from '../api/operations';
import type { SpendingBody } from '../api/types';

export const SPENDING_KEY = ['spending'];

/** Saves caps or prices. */
export function useSaveSpending() {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: (body: SpendingBody) => setSpending(body),
    onSuccess: (saved) => queryClient.setQueryData(SPENDING_KEY, saved),
  });
}
