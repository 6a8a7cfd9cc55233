import { Button, Popover } from '@mantine/core';
import { type ReactNode, useRef, useState } from 'react';
import { Icon, type IconName } from '../../ui/Icon';
import { useEscapeOutside } from '../../ui/useEscapeOutside';

interface Props {
  icon: IconName;
  label: string;
  isActive: boolean;
  width: number;
  children: ReactNode;
}

/** Toolbar button with its popover. */
export function Tool({ icon, label, isActive, width, children }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const dropdown = useRef<HTMLDivElement>(null);
  useEscapeOutside(isOpen, dropdown, () => setIsOpen(false));
  return (
    <Popover
      opened={isOpen}
      onChange={setIsOpen}
      position="bottom-start"
      shadow="md"
      trapFocus
      width={`min(${width}px, calc(100vw - 16px))`}
    >
      <Popover.Target>
        <Button
          data-tool={icon}
          size="compact-md"
          fz="sm"
          fw={550}
          variant={isActive ? 'light' : 'subtle'}
          color={isActive ? 'mill' : 'gray'}
          leftSection={<Icon name={icon} size={16} />}
          style={{ flexShrink: 0 }}
          onClick={() => setIsOpen(!isOpen)}
        >
          {label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown ref={dropdown} aria-label={label}>
        {children}
      </Popover.Dropdown>
    </Popover>
  );
}
