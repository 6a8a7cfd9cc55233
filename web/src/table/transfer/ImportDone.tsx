import { Alert, Button, Group, Stack, Table, Text } from '@mantine/core';
import { withoutLimitNames } from '../../api/fieldMessages';
import type { ImportResult } from '../../api/types';
import { formatNumber, pluralize } from '../../ui/format';
import { Icon } from '../../ui/Icon';
import { misspeltText } from '../model/misspelt';
import { formatCsv } from './csv';

/** Import result with rejected rows. */
export function ImportDone({ result, onClose }: { result: ImportResult; onClose: () => void }) {
  const { rejectedCount, columnsCreated, rejected, fieldsIgnored, hints } = result;
  return (
    <Stack>
      <Group gap="sm">
        <Icon name="check" style={{ color: 'var(--mantine-color-mill-6)' }} />
        <Text fw={600}>
          {summary(result)}
        </Text>
      </Group>
      {columnsCreated.length > 0 && (
        <Text size="sm" c="dimmed">
          New columns: {columnsCreated.map(({ header }) => header).join(', ')}
        </Text>
      )}
      {fieldsIgnored.length > 0 && (
        <Text size="sm" c="dimmed">
          Not imported: {fieldsIgnored.join(', ')}
        </Text>
      )}
      {hints && (
        <Alert color="blue" variant="light" title="Some columns of the file may be misspelt">
          {misspeltText(hints)}
        </Alert>
      )}
      {rejectedCount > 0 && (
        <Alert color="yellow" title={`${pluralize(rejectedCount, 'row')} could not be imported`} variant="light">
          <Stack gap="sm">
            {result.stopped && <Text size="sm">Too many errors: the import stopped there. The rows before that point were imported.</Text>}
            <Table fz="sm" verticalSpacing={2}>
              <Table.Tbody>
                {rejected.slice(0, 5).map(({ line, reason }) => (
                  <Table.Tr key={line}>
                    <Table.Td w={90}>Line {formatNumber(line)}</Table.Td>
                    <Table.Td>{withoutLimitNames(reason)}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
            <div>
              <Button size="xs" variant="default" leftSection={<Icon name="download" size={15} />} onClick={() => download(result)}>
                Download rejected rows
              </Button>
            </div>
          </Stack>
        </Alert>
      )}
      <Group justify="flex-end">
        <Button onClick={onClose} data-autofocus>
          Done
        </Button>
      </Group>
    </Stack>
  );
}

/** The result in a sentence. Rows that already exist are not a failure. */
function summary({ importedCount, updatedCount, unchangedCount, rejectedCount, skippedCount }: ImportResult): string {
  if (skippedCount > 0 && importedCount + updatedCount + unchangedCount + rejectedCount === 0)
    return 'No rows imported: none has a value in an imported column';
  if (importedCount + updatedCount + rejectedCount === 0) return 'No changes: the table already contains these rows';
  return `${pluralize(importedCount, 'row')} imported${updatedCount > 0 ? `, ${formatNumber(updatedCount)} updated` : ''}`;
}

function download({ rejected }: ImportResult): void {
  const rows = [['line', 'reason'], ...rejected.map(({ line, reason, values }) => [String(line), reason, ...values])];
  const url = URL.createObjectURL(new Blob([formatCsv(rows)], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = 'rejected-rows.csv';
  link.click();
  URL.revokeObjectURL(url);
}
