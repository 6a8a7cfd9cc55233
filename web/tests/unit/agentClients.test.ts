import { expect, test } from 'vitest';
import { agentClients, agentUrl } from '../../src/settings/agentClients';

const KEY = 'rm_key';

test('every client is told the address and the key', () => {
  const url = agentUrl('https://tables.example/mill', true);
  expect(url).toBe('https://tables.example/mill/mcp?read_only=true');
  const clients = agentClients(url, KEY);
  expect(clients.map(({ id }) => id)).toEqual(['claude-code', 'claude-desktop', 'cursor', 'vscode', 'codex', 'other']);
  for (const { config } of clients) {
    expect(config).toContain(url);
    expect(config).toContain(`Bearer ${KEY}`);
  }
});

test('files of JSON are JSON', () => {
  for (const { id, config } of agentClients(agentUrl('http://127.0.0.1:8080', false), KEY)) {
    if (!['claude-desktop', 'cursor', 'vscode'].includes(id)) continue;
    const parsed = JSON.parse(config) as { mcpServers?: { rowmill: object }; servers?: { rowmill: object } };
    expect(parsed.mcpServers?.rowmill ?? parsed.servers?.rowmill).toBeDefined();
  }
});

test('the bridge is allowed to use plain HTTP only where the address does', () => {
  const bridge = (base: string) => agentClients(agentUrl(base, false), KEY)[1]?.config;
  expect(bridge('http://10.0.0.5:8080')).toContain('--allow-http');
  expect(bridge('https://tables.example')).not.toContain('--allow-http');
});
