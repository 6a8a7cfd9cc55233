import { Button, Group, List, Modal, Stack, Text } from '@mantine/core';
import type { Column } from '../../api/types';
import { type DraftConflict, conflictText } from './draftConflicts';

interface Props {
  crossed: readonly DraftConflict[];
  columns: readonly Column[];
  onKeepTheirs: () => void;
  onSaveOver: () => void;
  onClose: () => void;
}

/** Edit conflict dialog: asks before overwriting what somebody else saved. */
export function ConflictDialog({ crossed, columns, onKeepTheirs, onSaveOver, onClose }: Props) {
  return (
    <Modal opened onClose={onClose} title="Somebody else changed this column" size="md" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack>
        <List size="sm" styles={{ item: { overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' } }}>
          {crossed.map((crossing) => (
            <List.Item key={`${crossing.part}.${crossing.field ?? ''}`}>{conflictText(crossing, columns)}</List.Item>
          ))}
        </List>
        <Text size="sm" c="dimmed">
          Your other changes are saved either way.
        </Text>
        <Group justify="flex-end">
          <Button variant="default" data-autofocus onClick={onKeepTheirs}>
            Keep theirs
          </Button>
          <Button color="red" onClick={onSaveOver}>
            Keep mine
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
