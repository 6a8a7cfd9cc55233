import { Button, Group, Text } from '@mantine/core';
import { Icon, type IconName } from '../../ui/Icon';

interface Props {
  icon: IconName;
  label: string;
  note: string;
  isBusy: boolean;
  onRestore: () => void;
}

/** One deleted thing, with a button to restore it. */
export function TrashItem({ icon, label, note, isBusy, onRestore }: Props) {
  return (
    <Group wrap="nowrap" gap="sm">
      <Icon name={icon} size={16} />
      <div style={{ flex: 1, minWidth: 0 }}>
        <Text size="sm" truncate title={label}>
          {label}
        </Text>
        <Text size="xs" c="dimmed" truncate>
          {note}
        </Text>
      </div>
      <Button size="compact-sm" variant="light" disabled={isBusy} aria-label={`Restore ${label}`} style={{ flexShrink: 0 }} onClick={onRestore}>
        Restore
      </Button>
    </Group>
  );
}
