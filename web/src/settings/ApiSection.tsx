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

/** API access of a project. */
export function ApiSection({ project }: { project: Project }) {
  const patch = usePatchProject(project.id);
  const { team } = useSession();
  // Optimistic update: a switch moves at once, and back if saving failed.
  const [moved, setMoved] = useState<Partial<ApiSettings>>({});
  const api: ApiSettings = { ...project.settings.api, ...moved };
  const set = (part: Partial<ApiSettings>) => {
    setMoved((before) => ({ ...before, ...part }));
    patch.mutate({ settings: { api: part } }, { onSettled: () => setMoved({}) });
  };
  return (
    <>
      <Card title="API access" guide="api-tour" text="How programs read and write this project.">
        <Stack gap="md">
          <Switch
            label="API access enabled"
            description="When off, all API calls to this project are rejected, including those of this page, until you turn it on here."
            checked={api.enabled}
            onChange={(event) => set({ enabled: event.currentTarget.checked })}
          />
          <Switch
            label="Require a key for reading"
            description="When off, anyone who knows the URL can read the project through API v3. Writing always needs a key."
            checked={api.requireKey}
            onChange={(event) => set({ requireKey: event.currentTarget.checked })}
          />
          <Switch
            label="Create columns for unknown fields"
            description="A field that matches no column creates one. When off, such fields are stored in the input column."
            checked={api.createColumnsFromKeys}
            onChange={(event) => set({ createColumnsFromKeys: event.currentTarget.checked })}
          />
        </Stack>
      </Card>
      <Card
        title="Examples"
        text={
          <>
            You need a key from{' '}
            <Anchor href="./settings/keys" size="sm" underline="always">
              Settings, API keys
            </Anchor>
            . All operations are described in the{' '}
            <Anchor href="./docs" target="_blank" size="sm" underline="always">
              API reference
            </Anchor>
            .
          </>
        }
      >
        <CopyField label="Project ID" value={project.id} />
        {examples(project, absoluteUrl(''), team.slug).map(({ label, command }) => (
          <CopyField key={label} label={label} value={command} isBlock />
        ))}
      </Card>
    </>
  );
}
