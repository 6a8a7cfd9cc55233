import { Checkbox, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { errorMessage, fieldErrors } from '../api/error';
import { changeWebhook, createWebhook } from '../api/operations';
import type { Webhook, WebhookEventType } from '../api/types';
import { DialogButtons } from '../ui/DialogButtons';
import { unsaved, useUnsaved } from '../ui/unsaved';
import { WEBHOOK_EVENTS } from './webhookEvents';
import { WebhookScope } from './WebhookScope';

interface Props {
  webhook: Webhook | undefined;
  /** Called with the secret of a new webhook. */
  onSaved: (secret?: string) => void;
  onClose: () => void;
}

/** The API's word for all is null. */
const orAll = (ids: string[]) => (ids.length > 0 ? ids : null);

/** Creates or changes a webhook. */
export function WebhookDialog({ webhook, onSaved, onClose }: Props) {
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [description, setDescription] = useState(webhook?.description ?? '');
  const [events, setEvents] = useState<string[]>(webhook?.events ?? []);
  const [scope, setScope] = useState({ projectIds: webhook?.projectIds ?? [], columnIds: webhook?.columnIds ?? [] });
  const forget = useUnsaved(url !== (webhook?.url ?? ''));
  const close = () => unsaved.guard(onClose);
  const save = useMutation({
    mutationFn: async () => {
      const body = {
        url: url.trim(),
        description,
        events: events as WebhookEventType[],
        projectIds: orAll(scope.projectIds),
        columnIds: orAll(scope.columnIds),
      };
      if (webhook) {
        await changeWebhook(webhook.id, body);
        return undefined;
      }
      return (await createWebhook(body)).secret;
    },
    onSuccess: (secret) => {
      forget();
      onSaved(secret);
    },
  });
  const errors = fieldErrors(save.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Modal opened onClose={close} title={webhook ? 'Edit webhook' : 'New webhook'} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput label="URL" placeholder="https://example.com/hooks/rowmill" value={url} error={errors.url} data-autofocus onChange={(event) => setUrl(event.currentTarget.value)} />
          <TextInput label="Description" value={description} error={errors.description} onChange={(event) => setDescription(event.currentTarget.value)} />
          <Checkbox.Group label="Events" value={events} error={errors.events} onChange={setEvents}>
            <Stack gap={6} mt={6}>
              {WEBHOOK_EVENTS.map(({ type, label }) => (
                <Checkbox key={type} value={type} label={<EventLabel label={label} type={type} />} />
              ))}
            </Stack>
          </Checkbox.Group>
          <WebhookScope {...scope} error={errors.columnIds} onChange={setScope} />
          {save.isError && Object.keys(errors).length === 0 && (
            <Text size="sm" c="red" role="alert">
              {errorMessage(save.error)}
            </Text>
          )}
          <DialogButtons label="Save" isSaving={save.isPending} isDisabled={!url.trim() || events.length === 0} onCancel={close} />
        </Stack>
      </form>
    </Modal>
  );
}

function EventLabel({ label, type }: { label: string; type: WebhookEventType }) {
  return (
    <>
      {label}{' '}
      <Text component="span" size="xs" c="dimmed" ff="monospace">
        {type}
      </Text>
    </>
  );
}
