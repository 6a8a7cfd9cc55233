import { Shell } from '../shell/Shell';
import { usePageTitle } from '../shell/usePageTitle';
import { KeysSection } from './KeysSection';
import { ProvidersSection } from './ProvidersSection';
import { SecretsSection } from './SecretsSection';
import { SessionsSection } from './SessionsSection';
import { type Section, SettingsLayout } from './SettingsLayout';
import { TeamSection } from './TeamSection';
import { UsageSection } from './UsageSection';

const SECTIONS: Section[] = [
  { id: 'providers', label: 'Providers', icon: 'plug', content: () => <ProvidersSection /> },
  { id: 'secrets', label: 'Secrets', icon: 'lock', content: () => <SecretsSection /> },
  { id: 'keys', label: 'API keys', icon: 'key', content: () => <KeysSection /> },
  { id: 'sessions', label: 'Signed-in browsers', icon: 'users', content: () => <SessionsSection /> },
  { id: 'team', label: 'Team', icon: 'users', content: () => <TeamSection /> },
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
