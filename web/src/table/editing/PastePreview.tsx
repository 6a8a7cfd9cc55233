import { Text } from '@mantine/core';
import { PreviewTable } from '../../ui/PreviewTable';
import type { Block, Destination } from '../rows/pasteBlock';

const ROWS_SHOWN = 4;
const COLUMNS_SHOWN = 60;

/** Preview of a paste: its first rows under their target columns. */
export function PastePreview({ goals, body }: { goals: readonly Destination[]; body: Block }) {
  const heads = goals.slice(0, COLUMNS_SHOWN).map(({ header, columnId }, place) => (
    <div key={place}>
      <Text size="sm" fw={620} truncate maw={200}>
        {header}
      </Text>
      <Text size="xs" c="dimmed" fw={400} style={{ whiteSpace: 'nowrap' }}>
        {columnId === undefined ? 'New column' : 'Fills this column'}
      </Text>
    </div>
  ));
  return <PreviewTable heads={heads} rows={body.slice(0, ROWS_SHOWN)} columnWidth={110} />;
}
