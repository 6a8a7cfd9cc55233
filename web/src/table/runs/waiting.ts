import type { Run } from '../../api/types';
import { formatDuration, formatMoment, pluralize, timeAgo } from '../../ui/format';
import { causeText, isAboutCredentials } from './causes';
import type { Progress } from './progress';

/** What the service knows of a run beside its counts. */
export type RunFacts = Pick<Run, 'failures' | 'rateLimit'>;

/** Without news for so long, nothing is said about speed. */
const QUIET_MILLISECONDS = 4_000;
/** A rate limit that costs less is not worth a word. */
const LIMIT_SECONDS_MIN = 5;

/** Whether no cell has ended for longer than the rate explains. */
export function isQuiet({ changedAt, rate }: Progress, now: number): boolean {
  if (changedAt === undefined) return true;
  return now - changedAt > Math.max(QUIET_MILLISECONDS, rate ? 3000 / rate : 0);
}

/** How long the rest takes, in seconds; undefined while that cannot be told. */
export function secondsLeft(progress: Progress, facts: RunFacts | undefined, now: number): number | undefined {
  const { waiting } = progress;
  if (waiting?.reason.code === 'spend_limit' || progress.batches) return undefined;
  const byLimit = facts?.rateLimit?.seconds;
  const byRate = isQuiet(progress, now) ? undefined : progress.secondsLeft;
  const byWait = waiting && (Date.parse(waiting.until) - now) / 1000;
  if (byRate === undefined && byLimit === undefined) return undefined;
  const left = Math.max(byRate ?? 0, byLimit ?? 0, byWait ?? 0);
  return left < 1 ? undefined : left;
}

/** What a run waits for and until when, in words; empty if it waits for nothing but answers. */
export function waitingText(progress: Progress, facts: RunFacts | undefined, now: number): string {
  const { waiting } = progress;
  if (waiting) return reasonText(waiting, now);
  if (progress.batches) return batchesText(progress.batches, now);
  const refused = facts?.failures.find(({ code }) => isAboutCredentials(code));
  if (refused) return `${pluralize(refused.cells, 'cell')} failed: ${causeText(refused.code).toLowerCase()}. The others with this key will fail, too.`;
  const limit = facts?.rateLimit;
  if (limit && limit.seconds >= LIMIT_SECONDS_MIN) return limitText(limit);
  return isQuiet(progress, now) ? 'Waiting for answers.' : '';
}

function batchesText({ cells, since, until }: NonNullable<Progress['batches']>, now: number): string {
  if (cells === 0 || !until) return 'Cells are being collected for a batch.';
  return `${pluralize(cells, 'cell')} sent ${timeAgo(since, now)} as a batch, at half the price. Results ${formatMoment(until, now)} at the latest.`;
}

function reasonText({ cells, reason, until }: NonNullable<Progress['waiting']>, now: number): string {
  const message = withLocalTimes(reason.message, now);
  if (reason.code === 'spend_limit') return `Waiting for the spending cap: ${message}`;
  const next = Date.parse(until) > now ? `Next try ${formatMoment(until, now)}.` : 'Trying again now.';
  const who = pluralize(cells, 'cell');
  if (reason.code === 'rate_limited') return `${who} held back by the provider’s rate limit. ${next}`;
  return `${who} paused after a failure: ${message.replace(/\.?$/, '.')} ${next}`;
}

function limitText({ scope, header, requests, perSeconds }: NonNullable<RunFacts['rateLimit']>): string {
  const whose = scope === 'column' ? `the settings of “${header}”` : `the provider of “${header}”`;
  const calls = pluralize(requests, 'call');
  const time = perSeconds === 1 ? 'a second' : perSeconds === 60 ? 'a minute' : perSeconds === 3600 ? 'an hour' : `in ${formatDuration(perSeconds)}`;
  return `Limited to ${calls} ${time} by ${whose}.`;
}

/** A message of the service with its times as the reader writes them. */
function withLocalTimes(message: string, now: number): string {
  return message.replace(/(at )?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/g, (_, _at: string, time: string) => formatMoment(time, now));
}
