import { ActionIcon, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { Icon, type IconName } from './Icon';
import classes from './SidePanel.module.css';

interface Props {
  title: string;
  icon?: IconName;
  children: ReactNode;
  /** Fixed area between the scrolling content and the footer; beside the content if there is room. */
  tray?: ReactNode;
  /** Buttons in the title bar. */
  actions?: ReactNode;
  /** Handles a key pressed on the panel itself. Returns whether it did. */
  onKey?: (key: string) => boolean;
  footer?: ReactNode;
  onBack?: () => void;
  onClose: () => void;
}

/** A panel beside the table; on a phone it covers it. */
export function SidePanel({ title, icon, children, tray, actions, footer, onKey, onBack, onClose }: Props) {
  const panel = useRef<HTMLElement>(null);
  useEffect(() => {
    panel.current?.focus();
  }, []);
  return (
    <aside
      ref={panel}
      className={classes.panel}
      aria-label={title}
      data-split={tray ? true : undefined}
      tabIndex={-1}
      onKeyDown={(event) => {
        const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
        if (isPlain && isFrame(event.target, panel.current) && onKey?.(event.key)) return event.preventDefault();
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
        {actions}
        <ActionIcon variant="subtle" color="gray" aria-label="Close the panel" onClick={onClose}>
          <Icon name="close" />
        </ActionIcon>
      </div>
      <div className={classes.panelBody}>{children}</div>
      {tray && <div className={classes.panelTray}>{tray}</div>}
      {footer && <div className={classes.panelFoot}>{footer}</div>}
    </aside>
  );
}

/** Whether an element is the panel itself or a button of its title bar, where keys mean nothing else. */
function isFrame(target: EventTarget, panel: HTMLElement | null): boolean {
  return target === panel || (target instanceof Element && target.closest(`.${classes.panelHead}`) !== null);
}
