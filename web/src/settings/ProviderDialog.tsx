import { Button, Checkbox, Group, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { client, data } from '../api/client';
import { fieldErrors, errorMessage } from '../api/error';
import { providersQuery } from '../api/queries';
import type { Provider } from '../api/types';
import { unsaved, useUnsaved } from '../ui/unsaved';

/** Sets a provider's API key. Keys are write-only. */
export function ProviderDialog({ provider, onClose }: { provider: Provider; onClose: () => void }) {
  const [apiKey, setApiKey] = useState('');
  const [baseUrl, setBaseUrl] = useState(provider.baseUrl ?? '');
  const [model, setModel] = useState(provider.model ?? '');
  // Saving replaces all settings: a key that is not entered again is deleted.
  const [isKeyless, setIsKeyless] = useState(false);
  const losesKey = provider.source === 'team' && !apiKey.trim();
  const queryClient = useQueryClient();
  const isAi = provider.kind === 'ai';
  const forget = useUnsaved(Boolean(apiKey) || baseUrl !== (provider.baseUrl ?? '') || model !== (provider.model ?? ''));
  const close = () => unsaved.guard(onClose);
  const save = useMutation({
    mutationFn: () =>
      data(
        client.PUT('/v4/team/providers/{provider}', {
          params: { path: { provider: provider.id } },
          body: {
            ...(apiKey.trim() && { apiKey: apiKey.trim() }),
            ...(baseUrl.trim() && { baseUrl: baseUrl.trim() }),
            ...(model.trim() && { model: model.trim() }),
          },
        }),
      ),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: providersQuery.queryKey });
      forget();
      onClose();
    },
  });
  const errors = fieldErrors(save.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Modal opened onClose={close} title={provider.label} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit}>
        <Stack>
          <PasswordInput
            label="API key"
            description={provider.source === 'team' ? 'The saved key is never shown. Enter it again, or enter a new one.' : undefined}
            value={apiKey}
            error={errors.apiKey}
            autoComplete="off"
            data-autofocus
            onChange={(event) => setApiKey(event.currentTarget.value)}
            visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the key' }}
          />
          <TextInput
            label="Base URL"
            description={isAi && provider.id === 'openai' ? 'Include /v1 at the end. Leave empty to use OpenAI.' : 'Only if it differs from the provider’s default.'}
            placeholder="https://…"
            value={baseUrl}
            error={errors.baseUrl}
            onChange={(event) => setBaseUrl(event.currentTarget.value)}
          />
          {isAi && <TextInput label="Default model" value={model} error={errors.model} onChange={(event) => setModel(event.currentTarget.value)} />}
          {losesKey && provider.id === 'openai' && (
            <Checkbox
              label="Save without a key"
              description="For your own server that needs no key. Deletes the saved key."
              checked={isKeyless}
              onChange={(event) => setIsKeyless(event.currentTarget.checked)}
            />
          )}
          {save.isError && Object.keys(errors).length === 0 && (
            <Text size="sm" c="red" role="alert">
              {errorMessage(save.error)}
            </Text>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending} disabled={losesKey ? !isKeyless : !apiKey.trim() && !baseUrl.trim()}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
