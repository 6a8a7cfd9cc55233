import { Alert, Button, Group, Modal, Skeleton, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { TriggerBody } from '../../api/types';
import { ErrorState } from '../../ui/ErrorState';
import { formatNumber, pluralize } from '../../ui/format';
import { countSelectedRows, isEverythingSelected, selectedRowIds } from '../editing/selectedRows';
import { isFiltered, runBody } from '../rows/rowQuery';
import type { Table } from '../state/useTable';
import { withoutManualValues } from '../runs/estimate';
import { bodyOf, choiceOf, FIRST_ROWS, rowsOf } from '../runs/runChoice';
import { RunChoices } from './RunChoices';
import { RunFigures } from '../runs/RunFigures';
import { type MeasuredRun, nothingRan, type RunQuestion } from '../runs/useRuns';

interface Props {
  table: Table;
  question: RunQuestion;
}

interface Rehearsed extends MeasuredRun {
  body: TriggerBody;
}

const TYPING_MILLISECONDS = 200;
/** More rows are not named one by one. */
const ROWS_MAX = 100_000;

/** Asks what to run, and says what it is likely to take. */
export default function RunDialog({ table, question }: Props) {
  const { answer } = table.runs;
  const [asked] = useState(() => choiceOf(question.body));
  const [choice, setChoice] = useState(asked);
  const [settled] = useDebouncedValue(choice, TYPING_MILLISECONDS);
  const makeBody = useMakeBody(table, question);
  const rehearsal = useQuery({
    queryKey: ['rehearsal', table.project.id, question.number, settled],
    queryFn: async (): Promise<Rehearsed> => {
      const body = await makeBody.make(settled);
      return { body, ...(await table.runs.measure(body)) };
    },
    ...(settled === asked && question.measured && { initialData: { body: question.body, ...question.measured } }),
    placeholderData: keepPreviousData,
    staleTime: Infinity,
    gcTime: 0,
    retry: false,
  });
  const isStale = rehearsal.isFetching || settled !== choice;
  const found = rehearsal.data;
  const close = () => void answer();
  return (
    <Modal opened onClose={close} title={titleOf(found, table)} size="lg" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack>
        <RunChoices table={table} choice={choice} selected={makeBody.selected} isPart={makeBody.isPart} onChange={setChoice} />
        {rehearsal.isError && <ErrorState error={rehearsal.error} onRetry={() => void rehearsal.refetch()} />}
        {!found && !rehearsal.isError && <Skeleton height={92} radius="md" />}
        {found && <RunFigures measured={found} isStale={isStale} />}
        {found && found.cells === 0 && !isStale && <Text size="sm">{nothingRan(found.body)}</Text>}
        {found && found.manualCount > 0 && (
          <Alert color="orange" title={`${pluralize(found.manualCount, 'value')} edited manually will be replaced`}>
            Manual edits cannot be restored.
          </Alert>
        )}
        <Group justify="flex-end">
          {/* On a phone there is the cross, and room for two buttons. */}
          <Button variant="default" onClick={close} visibleFrom="xs">
            Cancel
          </Button>
          {found && <OtherButton rehearsed={found} isDisabled={isStale} onRun={(body) => void answer(body)} />}
          <Button
            color={found && found.manualCount > 0 ? 'red' : undefined}
            data-autofocus={found?.manualCount === 0 || undefined}
            disabled={!found || found.cells === 0 || rehearsal.isError}
            loading={found !== undefined && isStale}
            onClick={() => found && void answer(found.body)}
          >
            {found ? `Run ${found.isAtMost ? 'all' : formatNumber(found.cells)}` : 'Run'}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** The smaller run that is offered beside the chosen one. */
function OtherButton({ rehearsed, isDisabled, onRun }: { rehearsed: Rehearsed; isDisabled: boolean; onRun: (body: TriggerBody) => void }) {
  const { body, cells, manualCount } = rehearsed;
  const others = manualCount > 0 ? withoutManualValues(body) : undefined;
  if (others) {
    return (
      <Button variant="default" disabled={isDisabled} onClick={() => onRun(others)}>
        Keep manual values
      </Button>
    );
  }
  if (cells <= FIRST_ROWS || (body.limit !== undefined && body.limit <= FIRST_ROWS)) return null;
  return (
    <Button variant="default" disabled={isDisabled} onClick={() => onRun({ ...body, limit: FIRST_ROWS })}>
      Run first {FIRST_ROWS} rows
    </Button>
  );
}

/** Turns a choice into a run of the rows that were shown and selected when the dialog was opened. */
function useMakeBody(table: Table, { body }: RunQuestion) {
  const [sources] = useState(() => {
    const named = rowsOf(body);
    const isNamed = Object.keys(named).length > 0;
    return { shown: isNamed ? named : runBody(table.query), isPart: isNamed || isFiltered(table.query), rowIds: body.rowIds, table };
  });
  const { shown, isPart, rowIds } = sources;
  const counted = isEverythingSelected(sources.table) ? 0 : countSelectedRows(sources.table);
  const selected = rowIds?.length ?? (counted > ROWS_MAX ? 0 : counted);
  const make = async (choice: ReturnType<typeof choiceOf>) => {
    const isById = choice.rows === 'selected';
    return bodyOf(choice, body, { shown, rowIds: isById ? (rowIds ?? (await selectedRowIds(sources.table))) : [] });
  };
  return { make, selected, isPart };
}

function titleOf(found: Rehearsed | undefined, { columns }: Table): string {
  if (!found) return 'Run cells';
  const parts = [...found.byColumn].filter(([, number]) => number > 0);
  const header = columns.find(({ id }) => id === parts[0]?.[0])?.header ?? 'the new column';
  const where = parts.length > 1 ? ` in ${pluralize(parts.length, 'column')}` : parts.length === 1 ? ` in “${header}”` : '';
  return `Run ${found.isAtMost ? 'up to ' : ''}${pluralize(found.cells, 'cell')}${where}?`;
}
