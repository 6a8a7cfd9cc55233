import { Badge, Button, Group, Loader, Stack, Table, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client, data } from '../api/client';
import { errorMessage } from '../api/error';
import { testProvider } from '../api/operations';
import { providersQuery } from '../api/queries';
import type { Provider } from '../api/types';
import { ConfirmDialog } from '../ui/ConfirmDialog';
import { ErrorState } from '../ui/ErrorState';
import { Card } from './Card';
import { ProviderDialog } from './ProviderDialog';
import classes from './Settings.module.css';

/** AI, e-mail and search providers with their keys. */
export function ProvidersSection() {
  const providers = useQuery(providersQuery);
  if (providers.isPending) return <Loader size="sm" />;
  if (providers.isError) return <ErrorState error={providers.error} onRetry={() => void providers.refetch()} />;
  const of = (kind: Provider['kind']) => providers.data.filter((provider) => provider.kind === kind);
  return (
    <>
      <Card
        title="AI models"
        guide="ai-columns"
        text="Used by AI columns. “OpenAI-compatible” works with any server that implements the OpenAI API: set its base URL."
      >
        <ProviderTable providers={of('ai')} />
      </Card>
      <Card
        title="E-mail finders"
        guide="lookups"
        text="Used by e-mail waterfall columns; some also verify addresses and find companies and people. Keys are encrypted on the server and never shown again."
      >
        <ProviderTable providers={of('finder')} />
      </Card>
      <Card title="E-mail verifiers" guide="lookups" text="Used by e-mail verification columns, beside the finders that verify. The domain check needs no key.">
        <ProviderTable providers={of('verifier')} />
      </Card>
      <Card title="Web search" guide="research" text="Used by AI research columns, in this order unless a column says otherwise. SearXNG is a server of your own: set its base URL.">
        <ProviderTable providers={of('search')} />
      </Card>
    </>
  );
}

function ProviderTable({ providers }: { providers: Provider[] }) {
  return (
    <Table verticalSpacing={8} fz="sm" className={classes.stacked}>
      <Table.Tbody>
        {providers.map((provider) => (
          <ProviderRow key={provider.id} provider={provider} />
        ))}
      </Table.Tbody>
    </Table>
  );
}

function ProviderRow({ provider }: { provider: Provider }) {
  const [dialog, setDialog] = useState<'set' | 'remove'>();
  const queryClient = useQueryClient();
  const test = useMutation({ mutationFn: () => testProvider(provider.id) });
  const remove = async () => {
    await data(client.DELETE('/v4/team/providers/{provider}', { params: { path: { provider: provider.id } } }));
    await queryClient.invalidateQueries({ queryKey: providersQuery.queryKey });
  };
  const needsNoKey = ['pattern', 'domaincheck'].includes(provider.id);
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" fw={600}>
          {provider.label}
        </Text>
        {(provider.baseUrl ?? provider.model) && (
          <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {[provider.baseUrl, provider.model].filter(Boolean).join(' · ')}
          </Text>
        )}
        <Stack gap={2} role="status">
          {provider.error && (
            <Text size="xs" c="red">
              {provider.error}
            </Text>
          )}
          {test.data && (
            <Text size="xs" c={test.data.ok ? undefined : 'red'}>
              {test.data.message} ({test.data.milliseconds} ms)
            </Text>
          )}
          {test.isError && (
            <Text size="xs" c="red">
              {errorMessage(test.error)}
            </Text>
          )}
        </Stack>
      </Table.Td>
      <Table.Td w={{ base: 'auto', xs: 130 }}>
        <Standing provider={provider} />
      </Table.Td>
      <Table.Td w={{ base: 'auto', xs: 230 }}>
        {!needsNoKey && (
          <Group gap={6} justify="flex-end">
            {provider.configured && (
              <Button size="compact-sm" variant="default" loading={test.isPending} onClick={() => test.mutate()} aria-label={`Test: ${provider.label}`}>
                Test
              </Button>
            )}
            <Button size="compact-sm" variant={provider.configured ? 'default' : 'light'} onClick={() => setDialog('set')} aria-label={`${provider.source === 'team' ? 'Replace' : 'Add key'}: ${provider.label}`}>
              {provider.source === 'team' ? 'Replace' : 'Add key'}
            </Button>
            {provider.source === 'team' && (
              <Button size="compact-sm" variant="subtle" color="red" onClick={() => setDialog('remove')} aria-label={`Remove: ${provider.label}`}>
                Remove
              </Button>
            )}
          </Group>
        )}
      </Table.Td>
      {dialog === 'set' && <ProviderDialog provider={provider} onClose={() => setDialog(undefined)} />}
      {dialog === 'remove' && (
        <ConfirmDialog title={`Remove the key for ${provider.label}?`} action="Remove key" onConfirm={remove} onClose={() => setDialog(undefined)}>
          Columns that use {provider.label} fall back to the server’s key if there is one; otherwise they fail.
        </ConfirmDialog>
      )}
    </Table.Tr>
  );
}

function Standing({ provider }: { provider: Provider }) {
  if (provider.error) return <Badge variant="light" color="red">unreadable</Badge>;
  if (provider.source === 'team') return <Badge variant="light">your key</Badge>;
  if (provider.source === 'environment') return <Badge variant="light" color="gray">server’s key</Badge>;
  return (
    <Text size="xs" c="dimmed">
      {provider.configured ? 'no key needed' : 'not set up'}
    </Text>
  );
}
