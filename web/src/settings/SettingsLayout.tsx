import { Container, NavLink, Title } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { type ReactNode, useEffect, useRef } from 'react';
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
  const isLine = useMediaQuery('(max-width: 720px)');
  const nav = useRef<HTMLElement>(null);
  // On a phone the sections are one line, which is longer than the screen.
  useEffect(() => {
    const [line, link] = [nav.current, nav.current?.querySelector<HTMLElement>('[aria-current]')];
    if (line && link) line.scrollLeft = link.offsetLeft - line.offsetLeft - (line.clientWidth - link.offsetWidth) / 2;
  }, [open?.id, isLine]);
  return (
    <Container size="lg" py={{ base: 'md', sm: 32 }}>
      <Title order={1} size="h2" mb="lg">
        {title}
      </Title>
      <div className={classes.layout}>
        <nav className={classes.nav} ref={nav} aria-label="Settings">
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
