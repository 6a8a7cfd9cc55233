import { ActionIcon, Group, Menu, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { sessionQuery } from '../api/queries';
import { signOut } from '../api/session';
import { Icon } from '../ui/Icon';
import { notifyError } from '../ui/notify';
import { unsaved } from '../ui/unsaved';
import { Brand } from './Brand';
import { useSession } from './session';
import classes from './Shell.module.css';

interface Props {
  /** Breadcrumb beside the name. */
  trail?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** The layout of every page: top bar and content. */
export function Shell({ trail, actions, children }: Props) {
  return (
    <div className={classes.shell}>
      <button type="button" className={classes.skip} onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <header className={classes.bar}>
        <Link href="/" className={classes.home} aria-label="Rowmill, all projects">
          <Brand compact={trail !== undefined} />
        </Link>
        {trail}
        <div className={classes.space} />
        {actions}
        <SchemeSwitch />
        <TeamMenu />
      </header>
      <main id="main" tabIndex={-1} className={classes.main}>
        {children}
      </main>
    </div>
  );
}

function useScheme() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const next: 'light' | 'dark' = scheme === 'dark' ? 'light' : 'dark';
  return { scheme, next, change: () => setColorScheme(next) };
}

function SchemeSwitch() {
  const { scheme, next, change } = useScheme();
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      visibleFrom="sm"
      aria-label={`Switch to ${next} theme`}
      onClick={change}
    >
      <Icon name={scheme === 'dark' ? 'sun' : 'moon'} />
    </ActionIcon>
  );
}

function TeamMenu() {
  const session = useSession();
  const queryClient = useQueryClient();
  const { next, change } = useScheme();
  const leave = async () => {
    try {
      await signOut();
      queryClient.setQueryData(sessionQuery.queryKey, { signedIn: false });
      queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] });
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <Menu position="bottom-end" width={230}>
      <Menu.Target>
        <button type="button" className={classes.team} aria-label={`Team ${session.team.name}: settings and sign out`}>
          <span className={classes.initial} aria-hidden>
            {session.team.name.slice(0, 1).toUpperCase()}
          </span>
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        <Group px="sm" py={6} gap={0}>
          <div>
            <Text size="sm" fw={600}>
              {session.team.name}
            </Text>
            <Text size="xs" c="dimmed">
              Rowmill {session.version}
            </Text>
          </div>
        </Group>
        <Menu.Divider />
        <Menu.Item component={Link} href="/settings/providers" leftSection={<Icon name="settings" />}>
          Settings
        </Menu.Item>
        <Menu.Item hiddenFrom="sm" leftSection={<Icon name={next === 'light' ? 'sun' : 'moon'} />} onClick={change}>
          Switch to {next} theme
        </Menu.Item>
        <Menu.Item component="a" href="./docs" target="_blank" leftSection={<Icon name="code" />}>
          API reference
        </Menu.Item>
        <Menu.Divider />
        <Menu.Item leftSection={<Icon name="signOut" />} onClick={() => unsaved.guard(() => void leave())}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
