import { ActionIcon, Button, Code, Group, PasswordInput, Table, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { client, data } from '../api/client';
import { errorMessage } from '../api/error';
import { secretsQuery } from '../api/queries';
import { ConfirmDialog } from '../ui/ConfirmDialog';
import { Icon } from '../ui/Icon';
import { useUnsaved } from '../ui/unsaved';
import { Card } from './Card';
import classes from './Settings.module.css';

/** Secrets for HTTP columns. They are write-only. */
export function SecretsSection() {
  const secrets = useQuery(secretsQuery);
  const refetch = useRefetch();
  const [removing, setRemoving] = useState<string>();
  const remove = async () => {
    if (!removing) return;
    await data(client.DELETE('/v4/team/secrets/{name}', { params: { path: { name: removing } } }));
    await refetch();
  };

  return (
    <Card
      title="Secrets"
      guide="provider-credentials"
      text={
        <>
          Use them in the headers, query parameters and body of HTTP columns: type @ and choose one, or write{' '}
          <Code>{'@{secret.NAME}'}</Code>. Secrets are encrypted on the server and never shown again.
        </>
      }
    >
      <SecretForm />
      {secrets.data?.length === 0 && (
        <Text size="sm" c="dimmed">
          No secrets yet.
        </Text>
      )}
      {secrets.data && secrets.data.length > 0 && <SecretList secrets={secrets.data} onRemove={setRemoving} />}
      {removing && (
        <ConfirmDialog title={`Delete the secret ${removing}?`} action="Delete secret" onConfirm={remove} onClose={() => setRemoving(undefined)}>
          Columns that use it will fail until it is set again.
        </ConfirmDialog>
      )}
    </Card>
  );
}

function useRefetch() {
  const queryClient = useQueryClient();
  return () => queryClient.invalidateQueries({ queryKey: secretsQuery.queryKey });
}

function SecretForm() {
  const refetch = useRefetch();
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  useUnsaved(value !== '');
  const save = useMutation({
    mutationFn: () => data(client.PUT('/v4/team/secrets/{name}', { params: { path: { name: name.trim() } }, body: { value } })),
    onSuccess: () => {
      setName('');
      setValue('');
      void refetch();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <TextInput
          label="Name"
          placeholder="CRM_TOKEN"
          value={name}
          onChange={(event) => setName(event.currentTarget.value.toUpperCase().replace(/[^A-Z0-9_]/g, '_'))}
        />
        <PasswordInput
          label="Value"
          value={value}
          autoComplete="off"
          flex={1}
          miw={180}
          onChange={(event) => setValue(event.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the value' }}
        />
        <Button type="submit" disabled={!name || !value} loading={save.isPending}>
          Save
        </Button>
      </Group>
      {save.isError && (
        <Text size="sm" c="red" mt="xs" role="alert">
          {errorMessage(save.error)}
        </Text>
      )}
    </form>
  );
}

interface ListProps {
  secrets: readonly { name: string; error?: string | null }[];
  onRemove: (name: string) => void;
}

function SecretList({ secrets, onRemove }: ListProps) {
  return (
    <Table verticalSpacing={6} className={classes.stacked}>
      <Table.Tbody>
        {secrets.map((secret) => (
          <Table.Tr key={secret.name}>
            <Table.Td className="mono">{secret.name}</Table.Td>
            <Table.Td c={secret.error ? 'red' : 'dimmed'} fz="sm">
              {secret.error ?? 'set'}
            </Table.Td>
            <Table.Td ta="right">
              <ActionIcon variant="subtle" color="red" aria-label={`Delete the secret ${secret.name}`} onClick={() => onRemove(secret.name)}>
                <Icon name="trash" />
              </ActionIcon>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
