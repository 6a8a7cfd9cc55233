import { Badge, Button, Group, Table, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { createKey, listKeys, revokeKey } from '../api/operations';
import type { ApiKey } from '../api/types';
import { ConfirmDialog } from '../ui/ConfirmDialog';
import { ErrorState } from '../ui/ErrorState';
import { timeAgo } from '../ui/format';
import { Icon } from '../ui/Icon';
import { NameDialog } from '../ui/NameDialog';
import { Card } from './Card';
import { OneTimeSecret } from './OneTimeSecret';
import classes from './Settings.module.css';

const KEYS = ['keys'];

/** The team's API keys. */
export function KeysSection() {
  const keys = useQuery({ queryKey: KEYS, queryFn: async () => (await listKeys()).keys });
  const queryClient = useQueryClient();
  const [isNaming, setIsNaming] = useState(false);
  const [secret, setSecret] = useState<string>();
  const [revoking, setRevoking] = useState<ApiKey>();
  const reread = () => queryClient.invalidateQueries({ queryKey: KEYS });
  const create = async (name: string) => {
    const made = await createKey(name);
    setSecret(made.secret);
    await reread();
  };
  const revoke = async () => {
    if (revoking) await revokeKey(revoking.id);
    await reread();
  };
  if (keys.isError) return <ErrorState error={keys.error} onRetry={() => void keys.refetch()} />;

  return (
    <Card title="API keys" text="Programs call the API with a key; people sign in with one. A key has full access to the team.">
      <div>
        <Button leftSection={<Icon name="plus" />} onClick={() => setIsNaming(true)}>
          New key
        </Button>
      </div>
      {secret && <OneTimeSecret label="Your new key" secret={secret} onClose={() => setSecret(undefined)} />}
      <KeyTable keys={keys.data ?? []} onRevoke={setRevoking} />
      {isNaming && (
        <NameDialog
          title="New API key"
          label="Key name"
          placeholder="CRM sync, Ada’s browser …"
          action="Create key"
          onSubmit={create}
          onClose={() => setIsNaming(false)}
        />
      )}
      {revoking && (
        <ConfirmDialog title={`Revoke “${revoking.name}”?`} action="Revoke key" onConfirm={revoke} onClose={() => setRevoking(undefined)}>
          Programs that use this key stop working immediately, and browsers signed in with it are signed out.
        </ConfirmDialog>
      )}
    </Card>
  );
}

function KeyTable({ keys, onRevoke }: { keys: readonly ApiKey[]; onRevoke: (key: ApiKey) => void }) {
  return (
    <Table verticalSpacing={8} fz="sm" className={classes.stacked}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Name</Table.Th>
          <Table.Th>Created</Table.Th>
          <Table.Th>Last used</Table.Th>
          <Table.Th aria-label="Actions" />
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {keys.map((key) => (
          <Table.Tr key={key.id}>
            <Table.Td>
              <Group gap={8}>
                <Text size="sm" fw={600}>
                  {key.name || 'Unnamed key'}
                </Text>
                {key.current && <Badge variant="light">current session</Badge>}
              </Group>
            </Table.Td>
            <Table.Td data-label="Created">{timeAgo(key.createdAt)}</Table.Td>
            <Table.Td data-label="Last used">{key.lastUsedAt ? timeAgo(key.lastUsedAt) : 'never'}</Table.Td>
            <Table.Td ta="right">
              <Button
                size="compact-sm"
                variant="subtle"
                color="red"
                disabled={key.current}
                title={key.current ? 'You are signed in with this key. Sign in with another one to revoke it.' : undefined}
                aria-label={`Revoke ${key.name || 'the unnamed key'}`}
                onClick={() => onRevoke(key)}
              >
                Revoke
              </Button>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
