import { Shell } from '../shell/Shell';
import { usePageTitle } from '../shell/usePageTitle';
import { AgentsSection } from './AgentsSection';
import { KeysSection } from './KeysSection';
import { ProvidersSection } from './ProvidersSection';
import { SecretsSection } from './SecretsSection';
import { SessionsSection } from './SessionsSection';
import { type Section, SettingsLayout } from './SettingsLayout';
import { SpendingSection } from './SpendingSection';
import { TeamSection } from './TeamSection';
import { UsageSection } from './UsageSection';
import { WebhooksSection } from './WebhooksSection';

const SECTIONS: Section[] = [
  { id: 'providers', label: 'Providers', icon: 'plug', content: () => <ProvidersSection /> },
  { id: 'secrets', label: 'Secrets', icon: 'lock', content: () => <SecretsSection /> },
  { id: 'keys', label: 'API keys', icon: 'key', content: () => <KeysSection /> },
  { id: 'sessions', label: 'Signed-in browsers', icon: 'users', content: () => <SessionsSection /> },
  { id: 'webhooks', label: 'Webhooks', icon: 'bolt', content: () => <WebhooksSection /> },
  { id: 'agents', label: 'Agents', icon: 'spark', content: () => <AgentsSection /> },
  { id: 'team', label: 'Team', icon: 'users', content: () => <TeamSection /> },
  { id: 'spending', label: 'Spending', icon: 'coin', content: () => <SpendingSection /> },
  { id: 'usage', label: 'Usage', icon: 'chart', content: () => <UsageSection /> },
];

/** Settings of the team. */
export default function SettingsPage({ section }: { section: string | undefined }) {
  usePageTitle('Settings');
  return (
    <Shell>
      <SettingsLayout title="Settings" base="/settings" sections={SECTIONS} section={section} />
    </Shell>
  );
}
