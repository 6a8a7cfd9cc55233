import { Anchor, Stack, Switch } from '@mantine/core';
import { useState } from 'react';
import { absoluteUrl } from '../api/base';
import type { Project } from '../api/types';
import { useSession } from '../shell/session';
import { CopyField } from '../ui/CopyField';
import { Card } from './Card';
import { examples } from './examples';
import { usePatchProject } from './usePatchProject';

type ApiSettings = Project['settings']['api'];

/** Who may reach the project by API, and how. */
export function ApiSection({ project }: { project: Project }) {
  const patch = usePatchProject(project.id);
  const { team } = useSession();
  // A switch moves at once, and back if that was not saved.
  const [moved, setMoved] = useState<Partial<ApiSettings>>({});
  const api: ApiSettings = { ...project.settings.api, ...moved };
  const set = (part: Partial<ApiSettings>) => {
    setMoved((before) => ({ ...before, ...part }));
    patch.mutate({ settings: { api: part } }, { onSettled: () => setMoved({}) });
  };
  return (
    <>
      <Card title="API access">
        <Stack gap="md">
          <Switch
            label="The API is on"
            description="Off: every call about this project is refused, this page’s table included, until it is switched on again here."
            checked={api.enabled}
            onChange={(event) => set({ enabled: event.currentTarget.checked })}
          />
          <Switch
            label="Reading needs a key"
            description="Off: anybody who knows the address may read the project by version 3 of the API. Writing always needs a key."
            checked={api.requireKey}
            onChange={(event) => set({ requireKey: event.currentTarget.checked })}
          />
          <Switch
            label="Make columns of unknown fields"
            description="A row sent with a field that no column is named after makes that column. Off: such fields are kept in the input column."
            checked={api.createColumnsFromKeys}
            onChange={(event) => set({ createColumnsFromKeys: event.currentTarget.checked })}
          />
        </Stack>
      </Card>
      <Card
        title="Use it"
        text={
          <>
            With a key from{' '}
            <Anchor href="./settings/keys" size="sm" underline="always">
              Settings, API keys
            </Anchor>
            . Everything there is stands in the{' '}
            <Anchor href="./docs" target="_blank" size="sm" underline="always">
              API reference
            </Anchor>
            .
          </>
        }
      >
        <CopyField label="Project id" value={project.id} />
        {examples(project, absoluteUrl(''), team.slug).map(({ label, command }) => (
          <CopyField key={label} label={label} value={command} isBlock />
        ))}
      </Card>
    </>
  );
}
