import { Badge, Button, Group, Stack, Table, Text } from '@mantine/core';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { replayDeliveries, replayDelivery } from '../api/operations';
import { deliveriesQuery } from '../api/queries';
import type { Webhook, WebhookDelivery } from '../api/types';
import { formatMilliseconds, formatNumber, timeAgo } from '../ui/format';
import { notify, notifyError } from '../ui/notify';
import classes from './Settings.module.css';

const COLORS = { pending: 'blue', delivered: 'mill', failed: 'red' } as const;
const DAY = 24 * 60 * 60 * 1000;

/** What became of a webhook's deliveries, newest first. */
export function WebhookDeliveries({ webhook }: { webhook: Webhook }) {
  const pages = useInfiniteQuery({ ...deliveriesQuery(webhook.id), refetchInterval: 5_000 });
  const deliveries = pages.data?.pages.flatMap((page) => page.deliveries) ?? [];
  const onError = (error: unknown) => notifyError(error);
  const again = useMutation({ mutationFn: (id: string) => replayDelivery(webhook.id, id), onSuccess: () => pages.refetch(), onError });
  const recover = useMutation({
    mutationFn: () => replayDeliveries(webhook.id, { since: new Date(Date.now() - 7 * DAY).toISOString(), onlyFailed: true }),
    onSuccess: ({ replayedCount }) => {
      notify(replayedCount === 0 ? 'Nothing failed in the last 7 days.' : `Deliveries that are sent again: ${formatNumber(replayedCount)}.`);
      void pages.refetch();
    },
    onError,
  });
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Button size="compact-sm" variant="default" onClick={() => void pages.refetch()}>
          Refresh
        </Button>
        <Button size="compact-sm" variant="default" disabled={!webhook.enabled} loading={recover.isPending} onClick={() => recover.mutate()}>
          Send again what failed
        </Button>
      </Group>
      {pages.isSuccess && deliveries.length === 0 && (
        <Text size="sm" c="dimmed">
          Nothing was sent yet.
        </Text>
      )}
      {deliveries.length > 0 && (
        <Table verticalSpacing={6} fz="sm" className={classes.stacked} aria-label="Deliveries">
          <Table.Tbody>
            {deliveries.map((delivery) => (
              <DeliveryRow key={delivery.id} delivery={delivery} canReplay={webhook.enabled} onReplay={() => again.mutate(delivery.id)} />
            ))}
          </Table.Tbody>
        </Table>
      )}
      {pages.hasNextPage && (
        <div>
          <Button size="compact-sm" variant="subtle" loading={pages.isFetchingNextPage} onClick={() => void pages.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </Stack>
  );
}

interface RowProps {
  delivery: WebhookDelivery;
  canReplay: boolean;
  onReplay: () => void;
}

function DeliveryRow({ delivery, canReplay, onReplay }: RowProps) {
  const last = delivery.attempts.at(-1);
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap={8}>
          <Badge variant="light" color={COLORS[delivery.status]}>
            {delivery.status}
          </Badge>
          <span className="mono">{delivery.type}</span>
        </Group>
      </Table.Td>
      <Table.Td data-label="When">{timeAgo(delivery.createdAt)}</Table.Td>
      <Table.Td data-label="Answer" style={{ overflowWrap: 'anywhere' }}>
        {last ? (last.error ?? `${last.status ?? ''} in ${formatMilliseconds(last.milliseconds)}`) : 'not tried yet'}
        {last?.error && last.response && (
          <Text size="xs" c="dimmed" lineClamp={2}>
            {last.response}
          </Text>
        )}
      </Table.Td>
      <Table.Td data-label="Attempts">{delivery.attempts.length}</Table.Td>
      <Table.Td ta="right">
        <Button size="compact-sm" variant="subtle" disabled={!canReplay} aria-label={`Send ${delivery.id} again`} onClick={onReplay}>
          Send again
        </Button>
      </Table.Td>
    </Table.Tr>
  );
}
