import { Alert, Button, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { client, data } from '../../api/client';
import { fieldErrors, errorMessage } from '../../api/error';
import { isWorthShowing } from '../../api/fixes';
import { projectQuery, providersQuery } from '../../api/queries';
import type { Column, ColumnCreate, ColumnPatch } from '../../api/types';
import { isProcessed } from '../../api/types';
import { FieldErrors } from '../../ui/fieldErrors';
import { SidePanel } from '../../ui/SidePanel';
import { useUnsaved } from '../../ui/unsaved';
import { columnIcon } from '../model/columnIcon';
import type { TemplateId } from '../model/templates';
import type { Table } from '../state/useTable';
import { withHeaders } from '../template/tokens';
import { AdvancedSection } from './AdvancedSection';
import { ConflictDialog } from './ConflictDialog';
import { DependencySection } from './DependencySection';
import { changedSince, type ColumnDraft, type DraftPart, draftOf, hasChanges, missingFields, newDraft, toBody } from './draft';
import { type DraftConflict, findDraftConflicts, type Edits, keepTheirs, merged, NO_EDITS, keepMine, withChange } from './draftConflicts';
import { TryBox } from './TryBox';
import { TypeSection } from './TypeSection';

interface Props {
  table: Table;
  /** The column to change, or the template to make one from. */
  column?: Column;
  template?: { templateId: TemplateId; header: string };
  onBack?: () => void;
  onSaved: (columnId: string) => void;
  onClose: () => void;
}

/** Configures a column, new or there already. */
export function ColumnPanel({ table, column, template, onBack, onSaved, onClose }: Props) {
  const providers = useQuery(providersQuery);
  const [edits, setEdits] = useState<Edits>(NO_EDITS);
  const [fixes, setFixes] = useState<string[]>([]);
  const start = column
    ? draftOf(column)
    : newDraft(template?.templateId ?? 'manual', template?.header ?? '', providers.data ?? []);
  const changes = merged(edits, start);
  const draft: ColumnDraft = { ...start, ...changes };
  const change = (part: DraftPart) => setEdits((old) => withChange(old, part, start));
  const save = useSave(table.project.id, column?.id);
  const readStored = useReadStored(table.project.id, column?.id);
  const [question, setQuestion] = useState<{ crossed: DraftConflict[]; stored: ColumnDraft; isRunAfter: boolean }>();
  const isSaving = readStored.isPending || save.isPending;
  const isChanged = hasChanges(start, changes);
  const forget = useUnsaved(isChanged);
  const runs = draft.templateId !== 'manual' && draft.templateId !== 'reference';
  const { apiConfig } = draft;
  const others = table.columns.filter((candidate) => candidate.id !== column?.id);

  // Once saving was tried, what is missing is said until it is there.
  const [isAsked, setIsAsked] = useState(false);
  const lacks = missingFields(draft);
  const errors = { ...fieldErrors(save.error), ...(isAsked && lacks) };
  const body = useRef<HTMLDivElement>(null);
  const showFirst = () =>
    requestAnimationFrame(() => {
      body.current?.querySelector('[role="alert"]')?.scrollIntoView({ block: 'nearest' });
      body.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
    });

  const submit = async (isRunAfter: boolean) => {
    setIsAsked(true);
    if (Object.keys(lacks).length > 0) return showFirst();
    // The others may have saved while this stood open.
    const stored = (await readStored.mutateAsync().catch(() => undefined)) ?? start;
    const crossed = column ? findDraftConflicts(edits, stored) : [];
    if (crossed.length > 0) return setQuestion({ crossed, stored, isRunAfter });
    await store(edits, stored, isRunAfter);
  };

  const store = async (sent: Edits, stored: ColumnDraft, isRunAfter: boolean) => {
    const saved = await save.mutateAsync({ ...stored, ...merged(sent, stored) }).catch(() => undefined);
    if (!saved) return showFirst();
    setIsAsked(false);
    forget();
    // Somebody may have typed on meanwhile.
    setEdits((now) => withChange(NO_EDITS, changedSince(sent.changes, now.changes), saved.stored));
    setFixes(saved.appliedFixes.filter(isWorthShowing));
    if (isRunAfter) await table.runs.run({ columnIds: [saved.columnId] });
    onSaved(saved.columnId);
  };

  const answer = (resolved: Edits, { stored, isRunAfter }: NonNullable<typeof question>) => {
    setQuestion(undefined);
    const hasMore = hasChanges(stored, merged(resolved, stored));
    setEdits(hasMore ? resolved : NO_EDITS);
    if (hasMore) void store(resolved, stored, isRunAfter);
  };

  return (
    <SidePanel
      title={column ? column.header : `New column: ${template?.header ?? ''}`}
      icon={column ? columnIcon(column) : 'plus'}
      onBack={onBack}
      onClose={onClose}
      tray={
        runs && (
          <TryBox
            table={table}
            draft={draft}
            columnId={column?.id}
            onPath={apiConfig && ((responsePath) => change({ apiConfig: { ...apiConfig, responsePath } }))}
          />
        )
      }
      footer={
        <>
          {column && !isChanged && isProcessed(column) && (
            <Button variant="default" onClick={() => void table.runs.run({ columnIds: [column.id] })}>
              Run this column
            </Button>
          )}
          {(isChanged || !column) && runs && (
            <Button variant="default" loading={isSaving} onClick={() => void submit(true)}>
              Save and run
            </Button>
          )}
          <Button disabled={!isChanged && column !== undefined} loading={isSaving} onClick={() => void submit(false)}>
            {column ? 'Save' : 'Create column'}
          </Button>
        </>
      }
    >
      {question && (
        <ConflictDialog
          crossed={question.crossed}
          columns={table.columns}
          onKeepTheirs={() => answer(keepTheirs(edits, question.stored), question)}
          onSaveOver={() => answer(keepMine(edits, question.stored), question)}
          onClose={() => setQuestion(undefined)}
        />
      )}
      <FieldErrors value={errors}>
        <Stack gap="md" ref={body}>
          <TextInput
            label="Header"
            value={draft.header}
            error={errors.header}
            maxLength={255}
            onChange={(event) => change({ header: event.currentTarget.value })}
          />
          {fixes.length > 0 && (
            <Alert color="blue" title="Corrected while saving" withCloseButton onClose={() => setFixes([])} closeButtonLabel="Close">
              <ul style={{ margin: 0, paddingLeft: 18 }}>
                {fixes.map((fix) => (
                  <li key={fix}>{withHeaders(fix, table.columns)}</li>
                ))}
              </ul>
            </Alert>
          )}
          {save.isError && (
            <Alert color="red" title="This was not saved">
              {errorMessage(save.error)}
            </Alert>
          )}
          <TypeSection table={table} draft={draft} columns={others} column={column} onChange={change} />
          {(runs || draft.templateId === 'reference') && (
            <DependencySection columns={table.columns} column={column} draft={draft} onChange={change} />
          )}
          {runs && <AdvancedSection columns={others} draft={draft} onChange={change} />}
        </Stack>
      </FieldErrors>
    </SidePanel>
  );
}

interface Saved {
  columnId: string;
  appliedFixes: string[];
  /** As the service keeps it. */
  stored: ColumnDraft;
}

function useSave(projectId: string, columnId: string | undefined) {
  const queryClient = useQueryClient();
  const { queryKey } = projectQuery(projectId);
  const send = async (body: ColumnCreate): Promise<{ column: { id: string }; appliedFixes: string[] }> => {
    if (columnId === undefined) {
      return data(client.POST('/v4/projects/{projectId}/columns', { params: { path: { projectId } }, body }));
    }
    const { templateId: _, ...patch } = body;
    return data(
      client.PATCH('/v4/projects/{projectId}/columns/{columnId}', {
        params: { path: { projectId, columnId } },
        body: patch as ColumnPatch,
      }),
    );
  };
  return useMutation({
    mutationFn: async (draft: ColumnDraft): Promise<Saved> => {
      const { column, appliedFixes } = await send(toBody(draft));
      await queryClient.invalidateQueries({ queryKey });
      const now = queryClient.getQueryData(queryKey)?.columns.find(({ id }) => id === column.id);
      return { columnId: column.id, appliedFixes, stored: now ? draftOf(now) : draft };
    },
  });
}

/** The column as the service has it at this moment. */
function useReadStored(projectId: string, columnId: string | undefined) {
  const queryClient = useQueryClient();
  return useMutation({
    mutationFn: async (): Promise<ColumnDraft | undefined> => {
      if (columnId === undefined) return undefined;
      const { columns } = await queryClient.fetchQuery({ ...projectQuery(projectId), staleTime: 0, retry: false });
      const column = columns.find(({ id }) => id === columnId);
      return column && draftOf(column);
    },
  });
}
