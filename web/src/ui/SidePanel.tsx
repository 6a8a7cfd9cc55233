import { ActionIcon, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { Icon, type IconName } from './Icon';
import classes from './SidePanel.module.css';

interface Props {
  title: string;
  icon?: IconName;
  children: ReactNode;
  /** Fixed area between the scrolling content and the footer. */
  tray?: ReactNode;
  footer?: ReactNode;
  onBack?: () => void;
  onClose: () => void;
}

/** A panel beside the table; on a phone it covers it. */
export function SidePanel({ title, icon, children, tray, footer, onBack, onClose }: Props) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    panel.current?.focus();
  }, []);
  return (
    <aside
      ref={panel}
      className={classes.panel}
      aria-label={title}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        event.stopPropagation();
        onClose();
      }}
    >
      <div className={classes.panelHead}>
        {onBack && (
          <ActionIcon variant="subtle" color="gray" aria-label="Back" onClick={onBack}>
            <Icon name="chevronRight" style={{ transform: 'scaleX(-1)' }} />
          </ActionIcon>
        )}
        {icon && <Icon name={icon} />}
        <Text component="h2" fw={620} size="md" m={0} truncate flex={1}>
          {title}
        </Text>
        <ActionIcon variant="subtle" color="gray" aria-label="Close the panel" onClick={onClose}>
          <Icon name="close" />
        </ActionIcon>
      </div>
      <div className={classes.panelBody}>{children}</div>
      {tray}
      {footer && <div className={classes.panelFoot}>{footer}</div>}
    </aside>
  );
}
