import { Checkbox, Modal, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { client, data } from '../api/client';
import { fieldErrors, errorMessage } from '../api/error';
import { providersQuery } from '../api/queries';
import type { Provider } from '../api/types';
import { DialogButtons } from '../ui/DialogButtons';
import { unsaved, useUnsaved } from '../ui/unsaved';

/** Sets a provider's API key. Keys are write-only. */
export function ProviderDialog({ provider, onClose }: { provider: Provider; onClose: () => void }) {
  const { form, change, isChanged, losesKey, canSave } = useProviderForm(provider);
  const forget = useUnsaved(isChanged);
  const close = () => unsaved.guard(onClose);
  const save = useSaveProvider(provider.id, () => {
    forget();
    onClose();
  });
  const errors = fieldErrors(save.error);
  const isAi = provider.kind === 'ai';
  const isOwnServer = provider.id === OWN_SERVER;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(form);
  };
  return (
    <Modal opened onClose={close} title={provider.label} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit}>
        <Stack>
          {!isOwnServer && <PasswordInput
            label="API key"
            description={provider.source === 'team' ? 'The saved key is never shown. Enter it again, or enter a new one.' : undefined}
            value={form.apiKey}
            error={errors.apiKey}
            autoComplete="off"
            data-autofocus
            onChange={(event) => change({ apiKey: event.currentTarget.value })}
            visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the key' }}
          />}
          <TextInput
            label="Base URL"
            description={baseUrlHint(provider.id)}
            placeholder="https://…"
            value={form.baseUrl}
            error={errors.baseUrl}
            onChange={(event) => change({ baseUrl: event.currentTarget.value })}
          />
          {isAi && <TextInput label="Default model" value={form.model} error={errors.model} onChange={(event) => change({ model: event.currentTarget.value })} />}
          {losesKey && provider.id === 'openai' && (
            <Checkbox
              label="Save without a key"
              description="For your own server that needs no key. Deletes the saved key."
              checked={form.isKeyless}
              onChange={(event) => change({ isKeyless: event.currentTarget.checked })}
            />
          )}
          {save.isError && Object.keys(errors).length === 0 && (
            <Text size="sm" c="red" role="alert">
              {errorMessage(save.error)}
            </Text>
          )}
          <DialogButtons label="Save" isSaving={save.isPending} isDisabled={!canSave} onCancel={close} />
        </Stack>
      </form>
    </Modal>
  );
}

/** A provider without a vendor: its address is all that it needs. */
const OWN_SERVER = 'searxng';

function baseUrlHint(provider: Provider['id']): string {
  if (provider === 'openai') return 'Include /v1 at the end. Leave empty to use OpenAI.';
  if (provider === OWN_SERVER) return 'The address of your SearXNG. Its settings must have json in search.formats.';
  return 'Only if it differs from the provider’s default.';
}

interface ProviderForm {
  apiKey: string;
  baseUrl: string;
  model: string;
  isKeyless: boolean;
}

function useProviderForm(provider: Provider) {
  const saved = { baseUrl: provider.baseUrl ?? '', model: provider.model ?? '' };
  const [form, setForm] = useState<ProviderForm>({ apiKey: '', ...saved, isKeyless: false });
  const hasKey = form.apiKey.trim() !== '';
  // Saving replaces all settings, so a key that is not entered again is deleted.
  const losesKey = provider.source === 'team' && !hasKey && provider.id !== OWN_SERVER;
  return {
    form,
    change: (part: Partial<ProviderForm>) => setForm((old) => ({ ...old, ...part })),
    isChanged: form.apiKey !== '' || form.baseUrl !== saved.baseUrl || form.model !== saved.model,
    losesKey,
    canSave: losesKey ? form.isKeyless : hasKey || form.baseUrl.trim() !== '',
  };
}

function useSaveProvider(provider: Provider['id'], onSaved: () => void) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: ({ apiKey, baseUrl, model }: ProviderForm) =>
      data(
        client.PUT('/v4/team/providers/{provider}', {
          params: { path: { provider } },
          body: {
            ...(apiKey.trim() && { apiKey: apiKey.trim() }),
            ...(baseUrl.trim() && { baseUrl: baseUrl.trim() }),
            ...(model.trim() && { model: model.trim() }),
          },
        }),
      ),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: providersQuery.queryKey });
      onSaved();
    },
  });
}
