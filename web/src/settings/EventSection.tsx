import { Button, Group, PasswordInput, SimpleGrid, Stack, Switch, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { teamQuery } from '../api/queries';
import type { Project } from '../api/types';
import { CopyField } from '../ui/CopyField';
import { useUnsaved } from '../ui/unsaved';
import { Card } from './Card';
import { type EventSettings, trimmed } from './eventSettings';
import { InboundDeliveries } from './InboundDeliveries';
import { usePatchProject } from './usePatchProject';

const INTEGRATION = 'eventplatform-event';
const TYPED = ['eventId', 'eventName', 'signingSecret'] as const;

/** Connects an event platform: its guests become rows. */
export function EventSection({ project }: { project: Project }) {
  const team = useQuery(teamQuery);
  const patch = usePatchProject(project.id);
  const isConnected = project.metadata.integration === INTEGRATION;
  const stored = (project.metadata.eventplatform ?? {}) as Partial<EventSettings>;
  const saved: EventSettings = { eventId: '', webhookEnabled: true, addApprovalColumn: true, ...stored };
  const [changes, setChanges] = useState<Partial<EventSettings>>({});
  const settings = { ...saved, ...changes };
  useUnsaved(TYPED.some((part) => (settings[part] ?? '') !== (saved[part] ?? '')));
  const change = (part: Partial<EventSettings>) => setChanges((old) => ({ ...old, ...part }));
  // Keeps what was typed while the request was in flight.
  const forget = () => setChanges((now) => (now === changes ? {} : now));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const metadata = { ...project.metadata, integration: INTEGRATION, eventplatform: trimmed(settings) };
    patch.mutate({ metadata }, { onSuccess: forget });
  };
  const disconnect = () => {
    const { integration: _, eventplatform: __, ...rest } = project.metadata;
    patch.mutate({ metadata: rest }, { onSuccess: forget });
  };

  return (
    <Card
      title="Event platform" guide="webhooks-in"
      text="Every guest who registers for an event becomes a row. Changes to the guest update the row."
    >
      {team.data && <CopyField label="1. Add this webhook URL to the platform" value={team.data.webhookUrl} />}
      <form onSubmit={submit}>
        <Stack gap="md">
          <Text size="sm" fw={550}>
            2. Choose the event for this project
          </Text>
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            <TextInput label="Event ID" required placeholder="evt-…" value={settings.eventId} onChange={(event) => change({ eventId: event.currentTarget.value })} />
            <TextInput label="Event name" value={settings.eventName ?? ''} onChange={(event) => change({ eventName: event.currentTarget.value })} />
          </SimpleGrid>
          <PasswordInput
            label="Signing secret"
            description="If set, only deliveries signed with it are accepted. It is never shown again."
            value={settings.signingSecret ?? ''}
            autoComplete="off"
            onChange={(event) => change({ signingSecret: event.currentTarget.value })}
            visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the secret' }}
          />
          <Switch label="Accept deliveries" checked={settings.webhookEnabled} onChange={(event) => change({ webhookEnabled: event.currentTarget.checked })} />
          <Switch
            label="Store the guest’s status in its own column"
            checked={settings.addApprovalColumn ?? false}
            onChange={(event) => change({ addApprovalColumn: event.currentTarget.checked })}
          />
          <Group>
            <Button type="submit" loading={patch.isPending} disabled={!settings.eventId.trim()}>
              {isConnected ? 'Save' : 'Connect'}
            </Button>
            {isConnected && (
              <Button variant="subtle" color="red" onClick={disconnect}>
                Disconnect
              </Button>
            )}
          </Group>
        </Stack>
      </form>
      <Text size="sm" fw={550}>
        Deliveries of the last 7 days, for all projects
      </Text>
      <InboundDeliveries hookId={undefined} />
    </Card>
  );
}
