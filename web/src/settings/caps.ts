import type { Cap, CapBody } from '../api/types';
import { formatDollars, formatNumber } from '../ui/format';

/** What a cap counts, in words. */
export function capScope(cap: Pick<Cap, 'scope' | 'projectId' | 'provider'>, projectName: (id: string) => string, providerName: (id: string) => string): string {
  switch (cap.scope) {
    case 'team':
      return 'The whole team';
    case 'project':
      return projectName(cap.projectId ?? '');
    case 'credential':
      return providerName(cap.provider ?? '');
    case 'run':
      return cap.projectId ? `Each run of ${projectName(cap.projectId)}` : 'Each run';
  }
}

/** An amount in the unit of a cap: `$5.00`, `200 credits`. */
export function capAmount(cap: Pick<Cap, 'usd' | 'credits'>, amount: number): string {
  return typeof cap.usd === 'number' ? formatDollars(amount) : `${formatNumber(amount)} credits`;
}

/** The limit, with its period: `$5.00 a day`. */
export function capLimit(cap: Pick<Cap, 'usd' | 'credits' | 'period'>): string {
  const amount = capAmount(cap, cap.usd ?? cap.credits ?? 0);
  return cap.period ? `${amount} a ${cap.period}` : amount;
}

/** How far a cap is used: `$3.20 of $5.00 a day`. Caps for each run count each run by itself. */
export function capSpent(cap: Pick<Cap, 'usd' | 'credits' | 'period' | 'spent'>): string {
  return cap.spent === undefined ? capLimit(cap) : `${capAmount(cap, cap.spent)} of ${capLimit(cap)}`;
}

/** The share of a cap that is spent, from 0 to 1; undefined if it counts each run by itself. */
export function capShare({ usd, credits, spent }: Pick<Cap, 'usd' | 'credits' | 'spent'>): number | undefined {
  if (spent === undefined) return undefined;
  const limit = usd ?? credits ?? 0;
  return limit > 0 ? Math.min(1, spent / limit) : 1;
}

/** A cap as it is set, without how it stands. */
export function capBody({ scope, projectId, provider, period, usd, credits }: Cap): CapBody {
  return {
    scope,
    ...(projectId && { projectId }),
    ...(provider && { provider }),
    ...(period && { period }),
    ...(typeof usd === 'number' && { usd }),
    ...(typeof credits === 'number' && { credits }),
  };
}
