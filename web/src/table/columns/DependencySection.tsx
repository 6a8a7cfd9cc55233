import { Stack, Switch, Text } from '@mantine/core';
import type { Column } from '../../api/types';
import { referredColumns } from '../template/tokens';
import classes from './Columns.module.css';
import { DependencyGraph } from './DependencyGraph';
import type { ColumnDraft, DraftPart } from './draft';
import { toBody } from './draft';

interface Props {
  columns: readonly Column[];
  column: Column | undefined;
  draft: ColumnDraft;
  onChange: (part: DraftPart) => void;
}

const SELF = 'new';

/** The column's dependencies and dependents. */
export function DependencySection({ columns, column, draft, onChange }: Props) {
  const id = column?.id ?? SELF;
  const referred = draft.referenceConfig?.columnId
    ? [draft.referenceConfig.columnId]
    : referredColumns(toBody(draft), columns);
  const needed = [...new Set([...draft.dependencies.map(({ columnId }) => columnId), ...referred])].filter((other) => other !== id);
  const isRequired = (columnId: string) => draft.dependencies.find((other) => other.columnId === columnId)?.required ?? true;
  const nodes = [
    ...columns.filter((other) => other.id !== id).map(nodeOf),
    { id, header: draft.header || 'This column', needs: needed },
  ];
  const hasAny = needed.length > 0 || columns.some((other) => other.dependencies.some(({ columnId }) => columnId === id));

  return (
    <div className={classes.section}>
      <Stack gap="sm">
        <Text fw={620} size="sm">
          Depends on
        </Text>
        {hasAny ? (
          <DependencyGraph nodes={nodes} focus={id} />
        ) : (
          <Text size="sm" c="dimmed">
            Nothing yet. A column you refer to with @ runs before this one.
          </Text>
        )}
        {draft.templateId !== 'reference' &&
          needed.map((columnId) => (
            <Switch
              key={columnId}
              size="xs"
              label={`“${columns.find((other) => other.id === columnId)?.header ?? columnId}” must have a value`}
              checked={isRequired(columnId)}
              onChange={(event) => {
                const required = event.currentTarget.checked;
                onChange({ dependencies: needed.map((other) => ({ columnId: other, required: other === columnId ? required : isRequired(other) })) });
              }}
            />
          ))}
      </Stack>
    </div>
  );
}

function nodeOf(column: Column) {
  const source = column.referenceConfig?.columnId;
  return {
    id: column.id,
    header: column.header,
    needs: source ? [source] : column.dependencies.map(({ columnId }) => columnId),
  };
}
