import { Alert, Badge, Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { changeHook, deleteHook, rotateHook } from '../api/operations';
import { hooksQuery } from '../api/queries';
import type { Hook, Project } from '../api/types';
import { ConfirmDialog } from '../ui/ConfirmDialog';
import { CopyField } from '../ui/CopyField';
import { ErrorState } from '../ui/ErrorState';
import { timeAgo } from '../ui/format';
import { Icon } from '../ui/Icon';
import { notifyError } from '../ui/notify';
import { Card } from './Card';
import { HookDialog } from './HookDialog';
import { InboundDeliveries } from './InboundDeliveries';
import { hookExample, UNKNOWN_KEYS, writableColumns } from './inbound';

/** Inbound hooks of a project: addresses that take JSON and forms as rows. */
export function HooksSection({ project }: { project: Project }) {
  const hooks = useQuery(hooksQuery(project.id));
  const refetch = useRefetch(project.id);
  const [editing, setEditing] = useState<Hook | 'new'>();
  const [url, setUrl] = useState<string>();
  if (hooks.isError) return <ErrorState error={hooks.error} onRetry={() => void hooks.refetch()} />;
  const saved = (made?: string) => {
    if (made) setUrl(made);
    setEditing(undefined);
    void refetch();
  };
  return (
    <Card
      title="Inbound webhooks"
      guide="webhooks-in"
      text="A hook is an address that takes any JSON or form as rows of this table. Give each service that sends here a hook of its own."
    >
      <div>
        <Button leftSection={<Icon name="plus" />} onClick={() => setEditing('new')}>
          New hook
        </Button>
      </div>
      {url && (
        <Alert color="mill" title="Copy the address now. It is shown only once." withCloseButton closeButtonLabel="Close" styles={{ body: { minWidth: 0 } }} onClose={() => setUrl(undefined)}>
          <Stack gap="sm">
            <CopyField label="Address" value={url} />
            <CopyField label="Example" value={hookExample(project, url)} isBlock />
          </Stack>
        </Alert>
      )}
      {hooks.data?.length === 0 && (
        <Text size="sm" c="dimmed">
          No hooks yet.
        </Text>
      )}
      {hooks.data?.map((hook) => (
        <HookCard key={hook.id} project={project} hook={hook} onEdit={() => setEditing(hook)} onUrl={setUrl} />
      ))}
      {editing && <HookDialog project={project} hook={editing === 'new' ? undefined : editing} onSaved={saved} onClose={() => setEditing(undefined)} />}
    </Card>
  );
}

function useRefetch(projectId: string) {
  const queryClient = useQueryClient();
  return () => queryClient.invalidateQueries({ queryKey: hooksQuery(projectId).queryKey });
}

interface CardProps {
  project: Project;
  hook: Hook;
  onEdit: () => void;
  onUrl: (url: string) => void;
}

function HookCard({ project, hook, onEdit, onUrl }: CardProps) {
  const refetch = useRefetch(project.id);
  const [isOpen, setIsOpen] = useState(false);
  const [asked, setAsked] = useState<'delete' | 'rotate'>();
  const enable = useMutation({ mutationFn: () => changeHook(project.id, hook.id, { enabled: !hook.enabled }), onSuccess: refetch, onError: (error) => notifyError(error) });
  const confirm = async () => {
    if (asked === 'rotate') onUrl((await rotateHook(project.id, hook.id)).url);
    else await deleteHook(project.id, hook.id);
    await refetch();
  };
  return (
    <Stack gap="xs" component="section" aria-label={`Hook ${hook.name}`}>
      <Group gap={8}>
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {hook.name}
        </Text>
        <Badge variant="light" color={hook.enabled ? 'mill' : 'gray'}>
          {hook.enabled ? 'enabled' : 'disabled'}
        </Badge>
        <Text size="sm" c="dimmed" className="mono">
          …{hook.addressEnd}
        </Text>
      </Group>
      <Text size="sm" c="dimmed">
        {summary(project, hook)}
      </Text>
      {hook.problems.length > 0 && (
        <Alert color="orange" icon={<Icon name="warn" />} role="status">
          {hook.problems.join(' ')}
        </Alert>
      )}
      {hook.oldAddressUntil && (
        <Text size="sm" c="dimmed">
          The address before works until {new Date(hook.oldAddressUntil).toLocaleString()}.
        </Text>
      )}
      <Group gap={4}>
        <Action label="Deliveries" onClick={() => setIsOpen(!isOpen)} isExpanded={isOpen} />
        <Action label="Edit" onClick={onEdit} />
        <Action label={hook.enabled ? 'Disable' : 'Enable'} onClick={() => enable.mutate()} isLoading={enable.isPending} />
        <Action label="New address" onClick={() => setAsked('rotate')} />
        <Action label="Delete" color="red" onClick={() => setAsked('delete')} />
      </Group>
      {isOpen && <InboundDeliveries hookId={hook.id} />}
      {asked === 'delete' && (
        <ConfirmDialog title="Delete this hook?" action="Delete hook" onConfirm={confirm} onClose={() => setAsked(undefined)}>
          Its address stops working at once. Rows stay.
        </ConfirmDialog>
      )}
      {asked === 'rotate' && (
        <ConfirmDialog title="Make a new address?" action="Make address" onConfirm={confirm} onClose={() => setAsked(undefined)}>
          The present address works for 24 hours more. Change senders over in that time.
        </ConfirmDialog>
      )}
    </Stack>
  );
}

/** What a hook does, in a line. */
function summary(project: Project, hook: Hook): string {
  const nameOf = (id: string) => writableColumns(project).find(({ value }) => value === id)?.label ?? 'a deleted column';
  const parts = [
    `Created ${timeAgo(hook.createdAt)}`,
    `Unknown keys: ${UNKNOWN_KEYS.find(({ value }) => value === hook.unknownKeys)?.label.toLowerCase()}`,
    ...(hook.matchOn ? [`Updates rows with the same ${nameOf(hook.matchOn)}`] : []),
    ...Object.entries(hook.headers).map(([name, column]) => `${name} into ${nameOf(column)}`),
  ];
  return parts.join(' · ');
}

interface ActionProps {
  label: string;
  onClick: () => void;
  color?: string;
  isLoading?: boolean;
  isExpanded?: boolean;
}

function Action({ label, onClick, color, isLoading = false, isExpanded }: ActionProps) {
  return (
    <Button size="compact-sm" variant="subtle" color={color} loading={isLoading} aria-expanded={isExpanded} onClick={onClick}>
      {label}
    </Button>
  );
}
