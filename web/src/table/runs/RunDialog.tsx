import { Alert, Button, Group, List, Modal, Stack, Text } from '@mantine/core';
import type { Column } from '../../api/types';
import { formatNumber, pluralize } from '../../ui/format';
import { basisText, estimateText, withoutManualValues } from './estimate';
import type { Runs } from './useRuns';

const TRIED_ROWS = 10;

/** Confirms large runs, because each cell may cost money. */
export function RunDialog({ runs, columns }: { runs: Runs; columns: readonly Column[] }) {
  const { question, answer } = runs;
  if (!question) return null;
  const { cells, byColumn, isAtMost, estimate, body, manualCount } = question;
  const others = manualCount > 0 ? withoutManualValues(body) : undefined;
  const parts = [...byColumn].filter(([, number]) => number > 0);
  const limit = Math.min(TRIED_ROWS, body.limit ?? TRIED_ROWS);
  const header = (columnId = '') => columns.find(({ id }) => id === columnId)?.header ?? 'the new column';
  const where = parts.length > 1 ? ` in ${pluralize(parts.length, 'column')}` : parts.length === 1 ? ` in “${header(parts[0]?.[0])}”` : '';
  return (
    <Modal
      opened
      onClose={() => void answer()}
      title={`Run ${isAtMost ? 'up to ' : ''}${pluralize(cells, 'cell')}${where}?`}
      size={manualCount > 0 ? 'lg' : 'md'}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <Stack>
        <Text size="sm">
          Each cell calls an external service, which may charge for it. You can stop the run at any time.
          {body.force && ' Finished cells run again, too.'}
        </Text>
        {estimate && (
          <Stack gap={2}>
            <Text fw={600}>{estimateText(estimate)}</Text>
            <Text size="sm" c="dimmed">
              {basisText(estimate)}
            </Text>
          </Stack>
        )}
        {manualCount > 0 && (
          <Alert color="orange" title={`${pluralize(manualCount, 'value')} edited manually will be replaced`}>
            Manual edits cannot be restored.
          </Alert>
        )}
        {parts.length > 1 && (
          <List size="sm">
            {parts.map(([columnId, number]) => (
              <List.Item key={columnId}>
                {header(columnId)}: {pluralize(number, 'cell')}
              </List.Item>
            ))}
          </List>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={() => void answer()}>
            Cancel
          </Button>
          {others ? (
            <Button variant="default" onClick={() => void answer(others)}>
              Keep manual values
            </Button>
          ) : (
            <Button variant="default" onClick={() => void answer({ ...body, limit })}>
              Run first {limit} rows
            </Button>
          )}
          <Button color={manualCount > 0 ? 'red' : undefined} data-autofocus={manualCount === 0 || undefined} onClick={() => void answer(body)}>
            Run {isAtMost ? 'all' : formatNumber(cells)}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
