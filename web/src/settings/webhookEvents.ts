import type { Webhook, WebhookEventType } from '../api/types';

/** What webhooks can be told of, with what each means. */
export const WEBHOOK_EVENTS: readonly { type: WebhookEventType; label: string }[] = [
  { type: 'row.created', label: 'Rows were added or restored' },
  { type: 'row.updated', label: 'Values were written by people or programs' },
  { type: 'row.deleted', label: 'Rows were deleted' },
  { type: 'cell.completed', label: 'Cells were filled' },
  { type: 'cell.failed', label: 'Cells failed' },
  { type: 'run.started', label: 'A run started' },
  { type: 'run.finished', label: 'A run finished' },
  { type: 'run.stopped', label: 'A run was stopped' },
  { type: 'spend.limit_reached', label: 'A spending cap was reached' },
];

/** What somebody must know of a webhook that does not work as it should. */
export function webhookNotice(webhook: Webhook): string | undefined {
  switch (webhook.disabled?.reason) {
    case 'gone':
      return 'Disabled: the receiver answered 410 Gone. Enable it when the receiver is back.';
    case 'failing':
      return 'Disabled: nothing could be delivered for 5 days. Enable it when the receiver works again, then send what failed.';
    case 'team':
      return 'Disabled by your team. Events are not sent.';
  }
  if (webhook.droppingSince) return 'Too many events wait, so new ones are dropped until the receiver has caught up.';
  if (webhook.problems.length > 0) return webhook.problems.join(' ');
  if (webhook.failingSince) return 'The last deliveries failed. They are retried for about a day and a half.';
  return undefined;
}
