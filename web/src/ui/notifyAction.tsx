import { Button, Group } from '@mantine/core';
import { hideToast, showToast } from './toasts';

interface Looks {
  title?: string;
  color?: string;
  autoClose?: number | false;
}

/** Notification with an action button. */
export function notifyAction(message: string, action: string, onAct: () => void, looks: Looks = {}): void {
  const id = showToast({
    message: (
      <Group justify="space-between" wrap="nowrap" gap="sm">
        <span>{message}</span>
        <Button
          size="compact-sm"
          variant="light"
          style={{ flexShrink: 0 }}
          onClick={() => {
            hideToast(id);
            onAct();
          }}
        >
          {action}
        </Button>
      </Group>
    ),
    color: 'mill',
    autoClose: 10_000,
    ...looks,
  });
}
