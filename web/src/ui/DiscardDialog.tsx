import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { unsaved } from './unsaved';

/** Asks before typed text is lost. */
export function DiscardDialog() {
  const waiting = useSyncExternalStore(unsaved.subscribe, () => unsaved.pending);
  return (
    <Modal
      opened={waiting !== undefined}
      onClose={() => unsaved.cancel()}
      title="Discard changes?"
      size="sm"
      zIndex={400}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <Text size="sm">You have unsaved changes.</Text>
        <Group justify="flex-end">
          <Button variant="default" data-autofocus onClick={() => unsaved.cancel()}>
            Keep editing
          </Button>
          <Button color="red" onClick={() => unsaved.discard()}>
            Discard changes
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
