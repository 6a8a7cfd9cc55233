import { Alert, Button, Group, NumberInput, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { sentence } from '../../api/error';
import { type TryResult, tryColumn } from '../../api/extra';
import type { Json } from '../../api/types';
import { advice } from '../cell/advice';
import { MetaList } from '../cell/MetaList';
import { isJson, toPretty } from '../rows/typed';
import { withHeaders } from '../template/tokens';
import type { Table } from '../useTable';
import classes from './Columns.module.css';
import { type ColumnDraft, toBody } from './draft';
import { JsonTree } from './JsonTree';
import { useSampleRow } from './sampleRow';

interface Props {
  table: Table;
  draft: ColumnDraft;
  columnId: string | undefined;
  onPath?: (path: string) => void;
}

/** Shows what would be sent for a row, and what comes back, before anything is saved. */
export function TryBox({ table, draft, columnId, onPath }: Props) {
  const sample = useSampleRow(table);
  const attempt = useMutation({
    mutationFn: (dryRun: boolean) =>
      tryColumn(table.project.id, { rowId: sample.row?.id ?? '', column: toBody(draft), columnId, dryRun }),
  });
  const isReal = attempt.variables === false;

  return (
    <div className={classes.section}>
      <Stack gap="sm">
        <Text fw={620} size="sm">
          Try it on a row
        </Text>
        {sample.total === 0 ? (
          <Text size="sm" c="dimmed">
            Add a row first. Then you can see here what would be sent for it, and what comes back.
          </Text>
        ) : (
          <Group gap={8} align="flex-end">
            <NumberInput
              size="xs"
              w={92}
              label="Row"
              min={1}
              max={sample.total}
              value={sample.number}
              onChange={(value) => sample.setNumber(Math.min(Math.max(1, Number(value) || 1), sample.total))}
            />
            <Button size="xs" variant="default" disabled={!sample.row} loading={attempt.isPending && !isReal} onClick={() => attempt.mutate(true)}>
              Show what would be sent
            </Button>
            <Button size="xs" disabled={!sample.row} loading={attempt.isPending && isReal} onClick={() => attempt.mutate(false)}>
              Try on this row
            </Button>
          </Group>
        )}
        {attempt.isError && (
          <Alert color="red" title="This could not be tried">
            {sentence(attempt.error)}
          </Alert>
        )}
        {attempt.data && (
          <Outcome
            answer={{ ...attempt.data, appliedFixes: attempt.data.appliedFixes.map((fix) => withHeaders(fix, table.columns)) }}
            onPath={onPath}
            path={draft.apiConfig?.responsePath ?? ''}
          />
        )}
      </Stack>
    </div>
  );
}

function Outcome({ answer, path, onPath }: { answer: TryResult; path: string; onPath?: (path: string) => void }) {
  const { result, resolved, appliedFixes } = answer;
  return (
    <Stack gap="sm" role="status">
      {appliedFixes.map((fix) => (
        <Text key={fix} size="xs" c="dimmed">
          {fix}
        </Text>
      ))}
      {result && <Answered result={result} path={path} onPath={onPath} />}
      <Text size="sm" fw={550}>
        {result ? 'What was sent' : 'What would be sent'}
      </Text>
      {Object.entries(resolved)
        .filter(([, value]) => value !== null && value !== '' && !isEmptyObject(value))
        .map(([name, value]) => (
          <div key={name}>
            <Text size="xs" c="dimmed" mb={2}>
              {name}
            </Text>
            <pre className={classes.code}>{toPretty(value)}</pre>
          </div>
        ))}
    </Stack>
  );
}

interface AnsweredProps {
  result: NonNullable<TryResult['result']>;
  path: string;
  onPath?: (path: string) => void;
}

function Answered({ result, path, onPath }: AnsweredProps) {
  if (result.error) {
    return (
      <Alert color={result.status === 'skipped' ? 'yellow' : 'red'} title={result.error.message}>
        {advice(result.error.code)}
      </Alert>
    );
  }
  const value = result.value ?? null;
  return (
    <Stack gap={6}>
      <Text size="sm" fw={550}>
        {value === null ? 'Nothing was found' : 'The answer'}
      </Text>
      {value !== null && isJson(value) && onPath && <JsonTree value={value} chosen={path} onChoose={onPath} />}
      {value !== null && !(isJson(value) && onPath) && <pre className={classes.code}>{toPretty(value)}</pre>}
      {result.meta && <MetaList meta={result.meta} />}
    </Stack>
  );
}

function isEmptyObject(value: Json): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
