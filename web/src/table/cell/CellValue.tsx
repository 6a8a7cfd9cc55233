import { Anchor, Button, CopyButton, Group, Text } from '@mantine/core';
import { useState } from 'react';
import type { Cell, Column, Json } from '../../api/types';
import { displayOf } from '../display/display';
import { misfitText } from '../formats/format';
import { isMisfit } from '../formats/reading';
import { isJson, toPretty } from '../model/values';
import type { Table } from '../state/useTable';
import { CellImage } from './CellImage';
import classes from './Json.module.css';
import { JsonTree } from './JsonTree';
import { useFieldColumn } from './useFieldColumn';
import { ValueEditor } from './ValueEditor';

interface Props {
  table: Table;
  column: Column;
  rowId: string;
  cell: Cell;
  onSaved: () => void;
}

/** A cell's value: text that can be edited, or fields that can each become a column. */
export function CellValue({ table, column, rowId, cell, onSaved }: Props) {
  const { value } = cell;
  const [isText, setIsText] = useState(false);
  const [isEditing, setIsEditing] = useState(false);
  const makeColumn = useFieldColumn(table, column);
  const text = toPretty(value);
  const isTree = isJson(value) && !isText;
  const save = (next: Json) => void table.editor.change([{ rowId, columnId: column.id, value: next, before: cell }]).then(onSaved);
  return (
    <div>
      <Group gap={4} mb={4}>
        <Text size="sm" fw={620} flex={1}>
          Value
        </Text>
        {!isEditing && column.type !== 'reference' && (
          <Button size="compact-xs" variant="subtle" onClick={() => setIsEditing(true)}>
            Edit
          </Button>
        )}
        {isJson(value) && !isEditing && (
          <Button size="compact-xs" variant="subtle" onClick={() => setIsText(!isText)}>
            {isText ? 'Show fields' : 'Show as text'}
          </Button>
        )}
        {text && !isEditing && (
          <CopyButton value={text}>
            {({ copied, copy }) => (
              <Button size="compact-xs" variant="subtle" onClick={copy}>
                {copied ? 'Copied' : 'Copy'}
              </Button>
            )}
          </CopyButton>
        )}
      </Group>
      {isEditing && <ValueEditor value={value} format={column.format} onSave={save} onClose={() => setIsEditing(false)} />}
      {!isEditing && <CellImage projectId={table.project.id} rowId={rowId} column={column} value={value} />}
      {!isEditing && isTree && (
        <>
          <Text size="sm" c="dimmed" mb={6}>
            Click a field to make it a column of its own.
          </Text>
          <JsonTree value={value} chosen="" onChoose={makeColumn} />
        </>
      )}
      {!isEditing && !isTree && <PlainValue value={value} />}
      {!isEditing && column.format && isMisfit(value, column.format) && (
        <Text size="sm" c="orange" mt={6}>
          {misfitText(column.format)}
        </Text>
      )}
    </div>
  );
}

/** Text in the text face, a link that opens, or JSON as code. */
export function PlainValue({ value }: { value: Json }) {
  const display = displayOf(value);
  const text = toPretty(value);
  if (!text) {
    return (
      <Text size="sm" c="dimmed">
        Empty
      </Text>
    );
  }
  if (display.kind === 'link' || display.kind === 'email') {
    return (
      <Anchor href={display.kind === 'link' ? display.url : `mailto:${display.text}`} target="_blank" rel="noreferrer noopener" size="sm" style={{ overflowWrap: 'anywhere' }}>
        {text}
      </Anchor>
    );
  }
  return (
    <pre className={isJson(value) ? classes.code : classes.prose} style={{ maxHeight: '46vh' }} tabIndex={0}>
      {text}
    </pre>
  );
}
