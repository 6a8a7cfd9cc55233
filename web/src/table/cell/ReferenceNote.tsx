import { Alert, Button } from '@mantine/core';
import type { Column, Json, Row } from '../../api/types';
import { missingPart } from './missingPart';

interface Props {
  column: Column;
  row: Row | undefined;
  onConfigure: () => void;
}

/** Why a reference cell is empty, and the way to another path. */
export function ReferenceNote({ column, row, onConfigure }: Props) {
  const config = column.referenceConfig;
  if (!config || !row || hasValue(row.cells[column.id]?.value)) return null;
  const why = missingPart(row.cells[config.columnId]?.value ?? null, config.path);
  return (
    <Alert color="yellow" variant="light" title={why ?? `Nothing found at ${config.path}.`}>
      <Button size="compact-sm" variant="default" onClick={onConfigure}>
        Choose another path
      </Button>
    </Alert>
  );
}

function hasValue(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== '';
}
