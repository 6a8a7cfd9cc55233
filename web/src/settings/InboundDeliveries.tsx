import { Badge, Button, Code, Group, Stack, Table, Text } from '@mantine/core';
import { useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { readInbound, replayInbound } from '../api/operations';
import { inboundQuery } from '../api/queries';
import type { InboundDelivery } from '../api/types';
import { formatNumber, timeAgo } from '../ui/format';
import { notify, notifyError } from '../ui/notify';
import { outcomeText, readableBody } from './inbound';
import classes from './Settings.module.css';

const COLORS = { processed: 'mill', ignored: 'gray', failed: 'red' } as const;

/** What came in, newest first, with what became of it: to a hook, or from the event platform. */
export function InboundDeliveries({ hookId }: { hookId: string | undefined }) {
  const pages = useInfiniteQuery({ ...inboundQuery(hookId), refetchInterval: 5_000 });
  const deliveries = pages.data?.pages.flatMap((page) => page.deliveries) ?? [];
  const again = useMutation({
    mutationFn: replayInbound,
    onSuccess: ({ delivery }) => {
      const outcome = delivery.outcomes.at(-1);
      notify(outcome ? outcomeText(outcome) || 'Done.' : 'Done.');
      void pages.refetch();
    },
    onError: (error) => notifyError(error),
  });
  return (
    <Stack gap="xs">
      {pages.isSuccess && deliveries.length === 0 && (
        <Text size="sm" c="dimmed">
          Nothing came in during the last 7 days.
        </Text>
      )}
      {deliveries.length > 0 && (
        <Table verticalSpacing={6} fz="sm" className={classes.stacked} aria-label="Deliveries that came in">
          <Table.Tbody>
            {deliveries.map((delivery) => (
              <DeliveryRows key={delivery.id} delivery={delivery} isReplaying={again.isPending && again.variables === delivery.id} onReplay={() => again.mutate(delivery.id)} />
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
  delivery: InboundDelivery;
  isReplaying: boolean;
  onReplay: () => void;
}

function DeliveryRows({ delivery, isReplaying, onReplay }: RowProps) {
  const [isOpen, setIsOpen] = useState(false);
  const last = delivery.outcomes.at(-1);
  return (
    <>
      <Table.Tr>
        <Table.Td>
          <Badge variant="light" color={COLORS[delivery.status]}>
            {delivery.status}
          </Badge>
        </Table.Td>
        <Table.Td data-label="When" style={{ whiteSpace: 'nowrap' }}>
          {timeAgo(delivery.receivedAt)}
        </Table.Td>
        <Table.Td data-label="Outcome" style={{ overflowWrap: 'anywhere' }}>
          {last && outcomeText(last)}
          {last?.replay && ' (replayed)'}
        </Table.Td>
        <Table.Td ta="right">
          <Group gap={4} justify="flex-end" wrap="nowrap">
            <Button size="compact-sm" variant="subtle" aria-expanded={isOpen} aria-label={`Show ${delivery.id}`} onClick={() => setIsOpen(!isOpen)}>
              Show
            </Button>
            <Button size="compact-sm" variant="subtle" loading={isReplaying} aria-label={`Replay ${delivery.id}`} onClick={onReplay}>
              Replay
            </Button>
          </Group>
        </Table.Td>
      </Table.Tr>
      {isOpen && (
        <Table.Tr>
          <Table.Td colSpan={4}>
            <DeliveryBody id={delivery.id} />
          </Table.Td>
        </Table.Tr>
      )}
    </>
  );
}

function DeliveryBody({ id }: { id: string }) {
  const read = useQuery({ queryKey: ['inbound-delivery', id], queryFn: async () => (await readInbound(id)).delivery });
  if (!read.data) return null;
  const { bytes, contentType } = read.data;
  return (
    <Stack gap={4}>
      <Text size="xs" c="dimmed">
        {[contentType ?? 'no content type', `${formatNumber(bytes)} bytes`].join(', ')}
      </Text>
      <Code block tabIndex={0} style={{ maxHeight: 320, overflow: 'auto' }} aria-label="Body">
        {readableBody(read.data)}
      </Code>
    </Stack>
  );
}
