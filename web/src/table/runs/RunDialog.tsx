import { Button, Group, List, Modal, Stack, Text } from '@mantine/core';
import { count, counted } from '../../ui/format';
import type { Table } from '../useTable';

const TRIED_ROWS = 10;

/** Asks before many cells are run, because each may cost money and somebody else's time. */
export function RunDialog({ table: { runs, columns } }: { table: Table }) {
  const { question, answer } = runs;
  if (!question) return null;
  const { cells, byColumn, isAtMost, body } = question;
  const parts = [...byColumn].filter(([, number]) => number > 0);
  const limit = Math.min(TRIED_ROWS, body.limit ?? TRIED_ROWS);
  const header = (columnId = '') => columns.find(({ id }) => id === columnId)?.header ?? 'the new column';
  const where = parts.length > 1 ? ` in ${counted(parts.length, 'column')}` : parts.length === 1 ? ` in “${header(parts[0]?.[0])}”` : '';
  return (
    <Modal
      opened
      onClose={() => void answer()}
      title={`Run ${isAtMost ? 'up to ' : ''}${counted(cells, 'cell')}${where}?`}
      size="md"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <Text size="sm">
          Each of them asks a service outside, which may charge for it. You can stop the run at any time.
          {body.force && ' Cells that are done or written by hand are run again, too.'}
        </Text>
        {parts.length > 1 && (
          <List size="sm">
            {parts.map(([columnId, number]) => (
              <List.Item key={columnId}>
                {header(columnId)}: {counted(number, 'cell')}
              </List.Item>
            ))}
          </List>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={() => void answer()}>
            Cancel
          </Button>
          <Button variant="default" onClick={() => void answer({ ...body, limit })}>
            First {limit} rows only
          </Button>
          <Button data-autofocus onClick={() => void answer(body)}>
            Run {isAtMost ? 'all' : count(cells)}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
