import { Container, NavLink, Title } from '@mantine/core';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Icon, type IconName } from '../ui/Icon';
import classes from './Settings.module.css';

export interface Section {
  id: string;
  label: string;
  icon: IconName;
  content: () => ReactNode;
}

interface Props {
  title: string;
  base: string;
  sections: readonly Section[];
  section: string | undefined;
}

/** Settings with navigation on the left; on a phone, above. */
export function SettingsLayout({ title, base, sections, section }: Props) {
  const open = sections.find(({ id }) => id === section) ?? sections[0];
  return (
    <Container size="lg" py={{ base: 'md', sm: 32 }}>
      <Title order={1} size="h2" mb="lg">
        {title}
      </Title>
      <div className={classes.layout}>
        <nav className={classes.nav} aria-label="Settings">
          {sections.map(({ id, label, icon }) => (
            <NavLink
              key={id}
              component={Link}
              href={`${base}/${id}`}
              label={label}
              active={id === open?.id}
              aria-current={id === open?.id ? 'page' : undefined}
              leftSection={<Icon name={icon} />}
              className={classes.link}
            />
          ))}
        </nav>
        <div className={classes.content}>{open?.content()}</div>
      </div>
    </Container>
  );
}
