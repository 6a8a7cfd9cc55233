import { Button, Switch, Tabs, Text } from '@mantine/core';
import { useState } from 'react';
import { absoluteUrl } from '../api/base';
import { CopyField } from '../ui/CopyField';
import { Icon } from '../ui/Icon';
import { agentClients, agentUrl, KEY_PLACEHOLDER } from './agentClients';
import { Card } from './Card';
import { KeyDialog } from './KeyDialog';
import { AGENT_SCOPES } from './keyScopes';
import { OneTimeSecret } from './OneTimeSecret';

/** How to connect an agent: the address, a key, and ready configuration. */
export function AgentsSection() {
  const [isReadOnly, setIsReadOnly] = useState(false);
  const [isCreating, setIsCreating] = useState(false);
  const [secret, setSecret] = useState<string>();
  const url = agentUrl(absoluteUrl(''), isReadOnly);
  const clients = agentClients(url, secret ?? KEY_PLACEHOLDER);
  return (
    <>
      <Card
        title="Connect an agent"
        guide="agents"
        text="Agents such as Claude, Cursor or Codex work with your tables through the Model Context Protocol (MCP). They see and do what their key may. Running and deleting are dry runs first."
      >
        <CopyField label="Address" value={url} />
        <Switch
          label="Reading only"
          description="The agent can read tables and follow runs, but change and spend nothing."
          checked={isReadOnly}
          onChange={(event) => setIsReadOnly(event.currentTarget.checked)}
        />
        <div>
          <Button leftSection={<Icon name="plus" />} onClick={() => setIsCreating(true)}>
            New key for an agent
          </Button>
        </div>
        {secret && <OneTimeSecret label="The agent’s key" secret={secret} onClose={() => setSecret(undefined)} />}
      </Card>
      <Card
        title="Configuration"
        text={secret ? 'The new key is filled in. Copy it before you leave this page.' : `Make a key above, or put one of yours in place of ${KEY_PLACEHOLDER}.`}
      >
        <Tabs defaultValue={clients[0]?.id} keepMounted={false}>
          <Tabs.List mb="sm">
            {clients.map(({ id, label }) => (
              <Tabs.Tab key={id} value={id}>
                {label}
              </Tabs.Tab>
            ))}
          </Tabs.List>
          {clients.map(({ id, label, where, config }) => (
            <Tabs.Panel key={id} value={id}>
              <Text size="sm" mb="xs">
                {where}
              </Text>
              <CopyField label={label} value={config} isBlock />
            </Tabs.Panel>
          ))}
        </Tabs>
      </Card>
      {isCreating && (
        <KeyDialog
          title="New key for an agent"
          placeholder="Claude Code, research agent …"
          scopes={isReadOnly ? ['read'] : AGENT_SCOPES}
          onCreated={setSecret}
          onClose={() => setIsCreating(false)}
        />
      )}
    </>
  );
}
