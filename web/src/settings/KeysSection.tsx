import { Badge, Button, Group, Table, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { listKeys, revokeKey } from '../api/operations';
import { projectsQuery } from '../api/queries';
import type { ApiKey } from '../api/types';
import { ConfirmDialog } from '../ui/ConfirmDialog';
import { ErrorState } from '../ui/ErrorState';
import { timeAgo } from '../ui/format';
import { Icon } from '../ui/Icon';
import { Card } from './Card';
import { KeyDialog } from './KeyDialog';
import { isExpired, restrictionsOf, SCOPES } from './keyScopes';
import { OneTimeSecret } from './OneTimeSecret';
import { RotateKeyDialog } from './RotateKeyDialog';
import classes from './Settings.module.css';

const KEYS = ['keys'];

/** The team's API keys. */
export function KeysSection() {
  const keys = useQuery({ queryKey: KEYS, queryFn: async () => (await listKeys()).keys });
  const queryClient = useQueryClient();
  const [isCreating, setIsCreating] = useState(false);
  const [secret, setSecret] = useState<string>();
  const [revoking, setRevoking] = useState<ApiKey>();
  const [rotating, setRotating] = useState<ApiKey>();
  const revoke = async () => {
    if (revoking) await revokeKey(revoking.id);
    await queryClient.invalidateQueries({ queryKey: KEYS });
  };
  if (keys.isError) return <ErrorState error={keys.error} onRetry={() => void keys.refetch()} />;

  return (
    <Card title="API keys" guide="keys" text="Programs call the API with a key; people sign in with one. A key may do everything, or only what you choose.">
      <div>
        <Button leftSection={<Icon name="plus" />} onClick={() => setIsCreating(true)}>
          New key
        </Button>
      </div>
      {secret && <OneTimeSecret label="Your new key" secret={secret} onClose={() => setSecret(undefined)} />}
      <KeyTable keys={keys.data ?? []} onRotate={setRotating} onRevoke={setRevoking} />
      {isCreating && (
        <KeyDialog
          title="New API key"
          placeholder="CRM sync, Ada’s browser …"
          scopes={SCOPES.map(({ scope }) => scope)}
          onCreated={setSecret}
          onClose={() => setIsCreating(false)}
        />
      )}
      {rotating && <RotateKeyDialog rotated={rotating} onCreated={setSecret} onClose={() => setRotating(undefined)} />}
      {revoking && (
        <ConfirmDialog title={`Revoke “${revoking.name}”?`} action="Revoke key" onConfirm={revoke} onClose={() => setRevoking(undefined)}>
          Programs that use this key stop working immediately, and browsers signed in with it are signed out.
        </ConfirmDialog>
      )}
    </Card>
  );
}

interface KeyTableProps {
  keys: readonly ApiKey[];
  onRotate: (key: ApiKey) => void;
  onRevoke: (key: ApiKey) => void;
}

function KeyTable({ keys, onRotate, onRevoke }: KeyTableProps) {
  return (
    <Table verticalSpacing={8} fz="sm" className={classes.stacked}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Name</Table.Th>
          <Table.Th>Created</Table.Th>
          <Table.Th>Last used</Table.Th>
          <Table.Th>Expires</Table.Th>
          <Table.Th aria-label="Actions" />
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {keys.map((key) => (
          <KeyRow key={key.id} listed={key} onRotate={onRotate} onRevoke={onRevoke} />
        ))}
      </Table.Tbody>
    </Table>
  );
}

interface KeyRowProps {
  listed: ApiKey;
  onRotate: (key: ApiKey) => void;
  onRevoke: (key: ApiKey) => void;
}

function KeyRow({ listed: key, onRotate, onRevoke }: KeyRowProps) {
  const projects = useQuery({ ...projectsQuery, enabled: key.projectIds !== null });
  const titleOf = (id: string) => projects.data?.find((project) => project.id === id)?.title ?? 'a deleted project';
  const name = key.name || 'the unnamed key';
  return (
    <Table.Tr>
      <Table.Td>
        <Group gap={8}>
          <Text size="sm" fw={600}>
            {key.name || 'Unnamed key'}
          </Text>
          {key.current && <Badge variant="light">current session</Badge>}
          {isExpired(key) && (
            <Badge variant="light" color="red">
              expired
            </Badge>
          )}
        </Group>
        <Text size="xs" c="dimmed">
          {restrictionsOf(key, titleOf).join('; ')}
        </Text>
      </Table.Td>
      <Table.Td data-label="Created">{timeAgo(key.createdAt)}</Table.Td>
      <Table.Td data-label="Last used">
        {key.lastUsedAt ? timeAgo(key.lastUsedAt) : 'never'}
        {key.lastUsedFrom && ` from ${key.lastUsedFrom}`}
      </Table.Td>
      <Table.Td data-label="Expires">{key.expiresAt ? timeAgo(key.expiresAt) : 'never'}</Table.Td>
      <Table.Td ta="right">
        <Group gap={4} justify="flex-end" wrap="nowrap">
          <Button size="compact-sm" variant="subtle" aria-label={`Rotate ${name}`} onClick={() => onRotate(key)}>
            Rotate
          </Button>
          <Button
            size="compact-sm"
            variant="subtle"
            color="red"
            disabled={key.current}
            title={key.current ? 'You are signed in with this key. Sign in with another one to revoke it.' : undefined}
            aria-label={`Revoke ${name}`}
            onClick={() => onRevoke(key)}
          >
            Revoke
          </Button>
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}
