import type { Run } from '../../api/types';
import { formatDuration } from '../../ui/format';

/** Who started a run: `Key “Nightly job”`, `Ada's laptop (browser)`, `Autoplay`. */
export function startedByText({ startedBy }: Pick<Run, 'startedBy'>): string {
  if (!startedBy) return '';
  const { type, name } = startedBy;
  if (type === 'autoplay') return 'Autoplay';
  if (type === 'webhook') return 'Webhook';
  if (type === 'session') return name ? `${name} (browser)` : 'Browser';
  return name ? `Key “${name}”` : 'API key';
}

/** How a run stands: `Running`, `Finished in 3 min`, `Stopped after 12 s`. */
export function statusText(run: Pick<Run, 'status' | 'startedAt' | 'endedAt'>): string {
  if (run.status === 'running') return 'Running';
  const time = durationText(run).replace(/^< 1 s$/, 'less than a second');
  return `${run.status === 'stopped' ? 'Stopped after' : 'Finished in'} ${time}`;
}

/** How long a run took, or that it is running. */
export function durationText({ startedAt, endedAt }: Pick<Run, 'startedAt' | 'endedAt'>): string {
  if (!endedAt) return 'running';
  const milliseconds = Date.parse(endedAt) - Date.parse(startedAt);
  return milliseconds < 1000 ? '< 1 s' : formatDuration(milliseconds / 1000);
}
