import { Badge, Button, Group, Table, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { endOtherSessions, endSession, listSessions } from '../api/operations';
import type { SignedInBrowser } from '../api/types';
import { ConfirmDialog } from '../ui/ConfirmDialog';
import { ErrorState } from '../ui/ErrorState';
import { timeAgo } from '../ui/format';
import { browserName } from './browserName';
import { Card } from './Card';
import classes from './Settings.module.css';

const SESSIONS = ['sessions'];

/** The browsers that are signed in to the team. */
export function SessionsSection() {
  const sessions = useQuery({ queryKey: SESSIONS, queryFn: async () => (await listSessions()).sessions });
  const queryClient = useQueryClient();
  const [isEndingOthers, setIsEndingOthers] = useState(false);
  const reread = () => queryClient.invalidateQueries({ queryKey: SESSIONS });
  const end = async (session: SignedInBrowser) => {
    await endSession(session.id);
    await reread();
  };
  const endOthers = async () => {
    await endOtherSessions();
    await reread();
  };
  if (sessions.isError) return <ErrorState error={sessions.error} onRetry={() => void sessions.refetch()} />;
  const hasOthers = sessions.data?.some((session) => !session.current) ?? false;

  return (
    <Card title="Signed-in browsers" guide="keys" text="People who signed in to this team with an API key. A session ends after 30 days, or when its key is revoked.">
      <div>
        <Button variant="default" disabled={!hasOthers} onClick={() => setIsEndingOthers(true)}>
          Sign out all others
        </Button>
      </div>
      <SessionTable sessions={sessions.data ?? []} onEnd={(session) => void end(session)} />
      {isEndingOthers && (
        <ConfirmDialog
          title="Sign out all other browsers?"
          action="Sign out others"
          onConfirm={endOthers}
          onClose={() => setIsEndingOthers(false)}
        >
          Everyone else must sign in again with an API key. This browser stays signed in.
        </ConfirmDialog>
      )}
    </Card>
  );
}

function SessionTable({ sessions, onEnd }: { sessions: readonly SignedInBrowser[]; onEnd: (session: SignedInBrowser) => void }) {
  return (
    <Table verticalSpacing={8} fz="sm" className={classes.stacked}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Browser</Table.Th>
          <Table.Th>Signed in</Table.Th>
          <Table.Th>Last seen</Table.Th>
          <Table.Th aria-label="Actions" />
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {sessions.map((session) => (
          <Table.Tr key={session.id}>
            <Table.Td>
              <Group gap={8}>
                <Text size="sm" fw={600} title={session.browser}>
                  {browserName(session.browser)}
                </Text>
                {session.current && <Badge variant="light">this browser</Badge>}
              </Group>
            </Table.Td>
            <Table.Td data-label="Signed in">{timeAgo(session.createdAt)}</Table.Td>
            <Table.Td data-label="Last seen">{timeAgo(session.lastSeenAt)}</Table.Td>
            <Table.Td ta="right">
              <Button
                size="compact-sm"
                variant="subtle"
                color="red"
                disabled={session.current}
                title={session.current ? 'Use “Sign out” in the menu to sign out this browser.' : undefined}
                aria-label={`Sign out ${browserName(session.browser)}`}
                onClick={() => onEnd(session)}
              >
                Sign out
              </Button>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
