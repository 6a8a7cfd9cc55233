import { Button, CopyButton, Group, Text } from '@mantine/core';
import { useState } from 'react';
import type { Column, Json } from '../../api/types';
import { isJson, toPretty } from '../model/values';
import type { Table } from '../state/useTable';
import classes from './Json.module.css';
import { JsonTree } from './JsonTree';
import { useFieldColumn } from './useFieldColumn';

/** A cell's value: text, or a list of fields that can each become a column. */
export function CellValue({ table, column, value }: { table: Table; column: Column; value: Json }) {
  const [isText, setIsText] = useState(false);
  const makeColumn = useFieldColumn(table, column);
  const text = toPretty(value);
  const isTree = isJson(value) && !isText;
  return (
    <div>
      <Group gap={4} mb={4}>
        <Text size="sm" fw={620} flex={1}>
          Value
        </Text>
        {isJson(value) && (
          <Button size="compact-xs" variant="subtle" onClick={() => setIsText(!isText)}>
            {isText ? 'Show fields' : 'Show as text'}
          </Button>
        )}
        {text && (
          <CopyButton value={text}>
            {({ copied, copy }) => (
              <Button size="compact-xs" variant="subtle" onClick={copy}>
                {copied ? 'Copied' : 'Copy'}
              </Button>
            )}
          </CopyButton>
        )}
      </Group>
      {isTree && (
        <>
          <Text size="sm" c="dimmed" mb={6}>
            Click a field to make it a column of its own.
          </Text>
          <JsonTree value={value} chosen="" onChoose={makeColumn} />
        </>
      )}
      {!isTree && text && (
        <pre className={classes.code} style={{ maxHeight: '46vh' }} tabIndex={0}>
          {text}
        </pre>
      )}
      {!text && (
        <Text size="sm" c="dimmed">
          Empty
        </Text>
      )}
    </div>
  );
}
