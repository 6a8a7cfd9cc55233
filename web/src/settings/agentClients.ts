import { stringifyJson } from '../api/exactNumber';
export interface AgentClient {
  id: string;
  label: string;
  /** Where the configuration goes. */
  where: string;
  config: string;
}

/** What stands in a configuration until there is a key. */
export const KEY_PLACEHOLDER = 'YOUR_KEY';

/** The address agents connect to. */
export function agentUrl(base: string, isReadOnly: boolean): string {
  return `${base}/mcp${isReadOnly ? '?read_only=true' : ''}`;
}

/** Ready configuration for the common clients. */
export function agentClients(url: string, key: string): AgentClient[] {
  const authorization = `Bearer ${key}`;
  const headers = { Authorization: authorization };
  // The bridge refuses plain HTTP elsewhere than on this machine, unless it is told.
  const plain = url.startsWith('http://') ? ['--allow-http'] : [];
  const bridge = {
    command: 'npx',
    // Some versions of the client break an argument with a space in it, so the value comes from a variable.
    args: ['-y', 'mcp-remote', url, '--header', 'Authorization:${ROWMILL_AUTHORIZATION}', ...plain],
    env: { ROWMILL_AUTHORIZATION: authorization },
  };
  return [
    {
      id: 'claude-code',
      label: 'Claude Code',
      where: 'Run this in a terminal.',
      config: `claude mcp add --transport http rowmill "${url}" \\\n  --header "Authorization: ${authorization}"`,
    },
    {
      id: 'claude-desktop',
      label: 'Claude Desktop',
      where: 'Settings, Developer, Edit config (claude_desktop_config.json). Needs Node.js.',
      config: json({ mcpServers: { rowmill: bridge } }),
    },
    { id: 'cursor', label: 'Cursor', where: 'In ~/.cursor/mcp.json.', config: json({ mcpServers: { rowmill: { url, headers } } }) },
    { id: 'vscode', label: 'VS Code', where: 'In .vscode/mcp.json.', config: json({ servers: { rowmill: { type: 'http', url, headers } } }) },
    {
      id: 'codex',
      label: 'Codex',
      where: 'In ~/.codex/config.toml.',
      config: `[mcp_servers.rowmill]\nurl = "${url}"\nhttp_headers = { Authorization = "${authorization}" }`,
    },
    {
      id: 'other',
      label: 'Other',
      where: 'Any client of the Model Context Protocol with streamable HTTP.',
      config: `Transport: streamable HTTP\nURL: ${url}\nHeader: Authorization: ${authorization}`,
    },
  ];
}

function json(config: unknown): string {
  return stringifyJson(config, 2);
}
