import { Paper, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import classes from '../../ui/Note.module.css';
import type { HoveredHeader } from '../grid/gridTypes';
import { isUnusedInput } from '../model/inputColumn';
import type { Table } from '../state/useTable';

const DELAY_MILLISECONDS = 500;

/** Tooltip at the header of the input column. */
export function InputNote({ table, hovered }: { table: Table; hovered: HoveredHeader | undefined }) {
  const [isShown, setIsShown] = useState(false);
  const column = table.columns.find(({ id, trigger }) => trigger && id === hovered?.columnId);
  useEffect(() => {
    setIsShown(false);
    if (!column) return;
    const timer = setTimeout(() => setIsShown(true), DELAY_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [column?.id]);
  if (!column || !hovered || !isShown) return null;
  const { x, y, height } = hovered.bounds;
  return (
    <Paper className={classes.note} withBorder shadow="md" role="tooltip" style={{ left: x + 8, top: y + height + 4 }}>
      <Text size="sm">Stores incoming data that has no column of its own, such as guests of an event or fields sent through the API.</Text>
      {isUnusedInput(column.id, table.store.rowAt) && (
        <Text size="sm" c="dimmed" mt={4}>
          It is empty. You can type in it, or use its menu to rename or hide it.
        </Text>
      )}
    </Paper>
  );
}
