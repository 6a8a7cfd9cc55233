import { ActionIcon, Alert, Button, NumberInput, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { errorMessage } from '../../api/error';
import { tryColumn } from '../../api/operations';
import { tickFirstStep } from '../../ui/firstSteps';
import { Icon } from '../../ui/Icon';
import type { Table } from '../state/useTable';
import { withHeaders } from '../template/tokens';
import classes from './Columns.module.css';
import { toTry } from './changeBody';
import type { ColumnDraft } from './draft';
import { useSampleRow } from './sampleRow';
import { TryOutcome } from './TryOutcome';
import { TRIED_ROWS, TryTable, useTryRows } from './TryTable';

interface Props {
  table: Table;
  draft: ColumnDraft;
  columnId: string | undefined;
  onPath?: (path: string) => void;
}

/** Tries an unsaved column on one row: shows the request and the result. */
export function TryBox({ table, draft, columnId, onPath }: Props) {
  const sample = useSampleRow(table);
  const attempt = useTry({ table, draft, columnId, rowId: sample.row?.id ?? '' });
  const isReal = attempt.variables === false;
  const isOpen = attempt.isError || attempt.data !== undefined;
  const many = useTryRows({ table, draft, columnId, number: sample.number });
  const { answer, press } = useFocusReturn(attempt, isOpen, () => many.reset());

  if (sample.total === 0) {
    return (
      <section className={classes.tray} aria-label="Try it">
        <Text size="sm" c="dimmed" px={14} py={10}>
          Add a row to try this column before you save it.
        </Text>
      </section>
    );
  }
  return (
    <section className={classes.tray} aria-label="Try it">
      <div className={classes.trayHead}>
        <Text size="sm" fw={620} component="label" htmlFor="try-row">
          Row
        </Text>
        <NumberInput
          id="try-row"
          size="xs"
          w={72}
          min={1}
          max={sample.total}
          value={sample.number}
          onChange={(value) => sample.setNumber(Math.min(Math.max(1, Number(value) || 1), sample.total))}
        />
        <Button size="xs" variant="light" disabled={!sample.row} loading={attempt.isPending && isReal} onClick={(event) => press(event.currentTarget, false)}>
          Try on this row
        </Button>
        {sample.total > sample.number && (
          <Button size="xs" px={8} variant="subtle" loading={many.isPending} onClick={() => (attempt.reset(), many.mutate())}>
            Try on {Math.min(TRIED_ROWS, sample.total - sample.number + 1)} rows
          </Button>
        )}
        <Button size="xs" px={8} variant="subtle" color="gray" disabled={!sample.row} loading={attempt.isPending && !isReal} onClick={(event) => press(event.currentTarget, true)}>
          Preview request
        </Button>
        {(isOpen || many.rows.length > 0) && (
          <ActionIcon variant="subtle" color="gray" ml="auto" aria-label="Close the result" onClick={() => (attempt.reset(), many.reset())}>
            <Icon name="close" size={16} />
          </ActionIcon>
        )}
      </div>
      {!isOpen && many.rows.length === 0 && (
        <Text size="xs" c="dimmed" className={classes.trayHint}>
          See the result before you save. Trying calls the provider, but changes no cell.
        </Text>
      )}
      {many.rows.length > 0 && <TryTable rows={many.rows} />}
      <div role="status" className={isOpen ? classes.trayAnswer : undefined} ref={answer} tabIndex={isOpen ? 0 : undefined} aria-label="Result">
        {attempt.isError && (
          <Alert color="red" title="The column could not be tried">
            {errorMessage(attempt.error)}
          </Alert>
        )}
        {attempt.data && <TryOutcome answer={attempt.data} onPath={onPath} path={draft.apiConfig?.responsePath ?? ''} />}
      </div>
    </section>
  );
}

/** Sends the draft to be tried on a row, and measures how long that takes. */
function useTry({ table, draft, columnId, rowId }: Pick<Props, 'table' | 'draft' | 'columnId'> & { rowId: string }) {
  return useMutation({
    mutationFn: async (dryRun: boolean) => {
      const startedAt = performance.now();
      const tried = await tryColumn(table.project.id, { rowId, ...toTry(draft, table.columns.find(({ id }) => id === columnId)), dryRun });
      if (!dryRun) tickFirstStep('try');
      const appliedFixes = tried.appliedFixes.map((fix) => withHeaders(fix, table.columns));
      return { ...tried, appliedFixes, milliseconds: performance.now() - startedAt };
    },
  });
}

/** A loading button is disabled and loses the focus. This gives it back when the answer arrives. */
function useFocusReturn(attempt: ReturnType<typeof useTry>, isOpen: boolean, onPress: () => void) {
  const answer = useRef<HTMLDivElement>(null);
  const pressed = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isOpen || attempt.isPending) return;
    answer.current?.scrollTo(0, 0);
    if (document.activeElement === document.body) pressed.current?.focus({ preventScroll: true });
  }, [isOpen, attempt.isPending, attempt.data]);
  const press = (button: HTMLButtonElement, dryRun: boolean) => {
    pressed.current = button;
    onPress();
    attempt.mutate(dryRun);
  };
  return { answer, press };
}
