import { Alert, Badge, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { changeWebhook, deleteWebhook, rotateWebhookSecret, testWebhook } from '../api/operations';
import { webhooksQuery } from '../api/queries';
import type { Webhook } from '../api/types';
import { ConfirmDialog } from '../ui/ConfirmDialog';
import { ErrorState } from '../ui/ErrorState';
import { Icon } from '../ui/Icon';
import { notify, notifyError } from '../ui/notify';
import { Card } from './Card';
import { OneTimeSecret } from './OneTimeSecret';
import { WebhookDeliveries } from './WebhookDeliveries';
import { WebhookDialog } from './WebhookDialog';
import { webhookNotice } from './webhookEvents';

/** Outbound webhooks: where events are sent, and what became of them. */
export function WebhooksSection() {
  const webhooks = useQuery(webhooksQuery);
  const refetch = useRefetch();
  const [editing, setEditing] = useState<Webhook | 'new'>();
  const [secret, setSecret] = useState<string>();
  if (webhooks.isError) return <ErrorState error={webhooks.error} onRetry={() => void webhooks.refetch()} />;
  const saved = (made?: string) => {
    if (made) setSecret(made);
    setEditing(undefined);
    void refetch();
  };
  return (
    <Card
      title="Webhooks"
      guide="webhooks-out"
      text="Rowmill sends events to your server as they happen, signed by the Standard Webhooks specification. The API documentation says what is sent."
    >
      <div>
        <Button leftSection={<Icon name="plus" />} onClick={() => setEditing('new')}>
          New webhook
        </Button>
      </div>
      {secret && <OneTimeSecret label="Signing secret" secret={secret} onClose={() => setSecret(undefined)} />}
      {webhooks.data?.length === 0 && (
        <Text size="sm" c="dimmed">
          No webhooks yet.
        </Text>
      )}
      {webhooks.data?.map((webhook) => (
        <WebhookCard key={webhook.id} webhook={webhook} onEdit={() => setEditing(webhook)} onSecret={setSecret} />
      ))}
      {editing && <WebhookDialog webhook={editing === 'new' ? undefined : editing} onSaved={saved} onClose={() => setEditing(undefined)} />}
    </Card>
  );
}

function useRefetch() {
  const queryClient = useQueryClient();
  return () => queryClient.invalidateQueries({ queryKey: webhooksQuery.queryKey });
}

interface CardProps {
  webhook: Webhook;
  onEdit: () => void;
  onSecret: (secret: string) => void;
}

function WebhookCard({ webhook, onEdit, onSecret }: CardProps) {
  const refetch = useRefetch();
  const [isOpen, setIsOpen] = useState(false);
  const [asked, setAsked] = useState<'delete' | 'rotate'>();
  const onError = (error: unknown) => notifyError(error);
  const test = useMutation({
    mutationFn: () => testWebhook(webhook.id),
    onSuccess: () => {
      notify('The test event is on its way.');
      setIsOpen(true);
    },
    onError,
  });
  const enable = useMutation({ mutationFn: () => changeWebhook(webhook.id, { enabled: !webhook.enabled }), onSuccess: refetch, onError });
  const confirm = async () => {
    if (asked === 'rotate') onSecret((await rotateWebhookSecret(webhook.id)).secret);
    else await deleteWebhook(webhook.id);
    await refetch();
  };
  const notice = webhookNotice(webhook);
  const name = webhook.description || webhook.url;
  return (
    <Stack gap="xs" component="section" aria-label={`Webhook ${name}`}>
      <Group gap={8}>
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {webhook.url}
        </Text>
        <Badge variant="light" color={webhook.enabled ? 'mill' : 'gray'}>
          {webhook.enabled ? 'enabled' : 'disabled'}
        </Badge>
      </Group>
      <Text size="sm" c="dimmed">
        {[webhook.description, webhook.events.join(', ')].filter(Boolean).join(' · ')}
      </Text>
      {notice && (
        <Alert color={webhook.disabled?.reason === 'team' ? 'gray' : 'orange'} icon={<Icon name="warn" />} role="status">
          {notice}
        </Alert>
      )}
      <Group gap={4}>
        <Action label="Deliveries" onClick={() => setIsOpen(!isOpen)} isExpanded={isOpen} />
        <Action label="Send test" onClick={() => test.mutate()} isDisabled={!webhook.enabled} isLoading={test.isPending} />
        <Action label="Edit" onClick={onEdit} />
        <Action label={webhook.enabled ? 'Disable' : 'Enable'} onClick={() => enable.mutate()} isLoading={enable.isPending} />
        <Action label="New secret" onClick={() => setAsked('rotate')} />
        <Action label="Delete" color="red" onClick={() => setAsked('delete')} />
      </Group>
      {isOpen && <WebhookDeliveries webhook={webhook} />}
      {asked === 'delete' && (
        <ConfirmDialog title="Delete this webhook?" action="Delete webhook" onConfirm={confirm} onClose={() => setAsked(undefined)}>
          Events that wait are not delivered, and the log is deleted.
        </ConfirmDialog>
      )}
      {asked === 'rotate' && (
        <ConfirmDialog title="Make a new secret?" action="Make secret" onConfirm={confirm} onClose={() => setAsked(undefined)}>
          Deliveries are signed with both secrets for 24 hours. Change your server over in that time.
        </ConfirmDialog>
      )}
    </Stack>
  );
}

interface ActionProps {
  label: string;
  onClick: () => void;
  color?: string;
  isDisabled?: boolean;
  isLoading?: boolean;
  isExpanded?: boolean;
}

function Action({ label, onClick, color, isDisabled = false, isLoading = false, isExpanded }: ActionProps) {
  return (
    <Button size="compact-sm" variant="subtle" color={color} disabled={isDisabled} loading={isLoading} aria-expanded={isExpanded} onClick={onClick}>
      {label}
    </Button>
  );
}
