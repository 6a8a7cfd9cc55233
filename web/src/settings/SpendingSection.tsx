import { Loader } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { readSpending } from '../api/operations';
import { ErrorState } from '../ui/ErrorState';
import { CapsCard } from './CapsCard';
import { PricesCard } from './PricesCard';
import { SpendingUsage } from './SpendingUsage';
import { SPENDING_KEY } from './useSaveSpending';

/** Caps on what is spent, the prices that count, and what was spent. */
export function SpendingSection() {
  const spending = useQuery({ queryKey: SPENDING_KEY, queryFn: readSpending, staleTime: 0, refetchInterval: 10_000 });
  if (spending.isPending) return <Loader size="sm" />;
  if (spending.isError) return <ErrorState error={spending.error} onRetry={() => void spending.refetch()} />;
  return (
    <>
      <CapsCard spending={spending.data} />
      <PricesCard spending={spending.data} />
      <SpendingUsage />
    </>
  );
}
