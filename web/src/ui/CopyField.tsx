import { Button, CopyButton, Group, Text } from '@mantine/core';
import classes from './CopyField.module.css';
import { Icon } from './Icon';

interface Props {
  label: string;
  value: string;
  isBlock?: boolean;
}

/** Text with a copy button: an id, a URL, a command. */
export function CopyField({ label, value, isBlock = false }: Props) {
  return (
    <div>
      <Group justify="space-between" mb={4} wrap="nowrap">
        <Text size="sm" fw={550}>
          {label}
        </Text>
        <CopyButton value={value}>
          {({ copied, copy }) => (
            <Button size="compact-xs" variant="subtle" style={{ flexShrink: 0 }} leftSection={<Icon name={copied ? 'check' : 'copy'} size={14} />} onClick={copy} aria-label={`${copied ? 'Copied' : 'Copy'}: ${label}`}>
              {copied ? 'Copied' : 'Copy'}
            </Button>
          )}
        </CopyButton>
      </Group>
      <pre className={classes.field} data-block={isBlock || undefined} tabIndex={0}>
        {value}
      </pre>
    </div>
  );
}
