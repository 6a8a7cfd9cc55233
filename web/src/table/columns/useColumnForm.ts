import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { fieldErrors, isChangedMeanwhile } from '../../api/error';
import { isWorthShowing } from '../../api/fixes';
import { providersQuery } from '../../api/queries';
import type { Column, Provider } from '../../api/types';
import { useUnsaved } from '../../ui/unsaved';
import type { TemplateId } from '../model/templates';
import type { Table } from '../state/useTable';
import { changedSince, type ColumnDraft, type DraftPart, draftOf, hasChanges, missingFields, newDraft, withGuessedInputs } from './draft';
import { type DraftConflict, type Edits, findDraftConflicts, keepMine, keepTheirs, merged, NO_EDITS, withChange } from './draftConflicts';
import { type StoredColumn, useFetchColumn, useSaveColumn } from './useSaveColumn';

interface Options {
  table: Table;
  /** The column to change, or the template to create one from. */
  column?: Column;
  template?: { templateId: TemplateId; header: string };
  onSaved: (columnId: string) => void;
}

/** Fields that somebody else changed too. Saving waits until the user has chosen. */
interface Conflict {
  fields: DraftConflict[];
  stored: StoredColumn;
  isRunAfter: boolean;
}

/** How often a column is compared and saved that others keep changing. */
const ATTEMPTS_MAX = 4;

/** The column as it is, or a new one. Rows that come in later do not change what was chosen for it. */
function useStart(table: Table, column: Options['column'], template: Options['template'], providers: readonly Provider[]): ColumnDraft {
  const [samples] = useState(() => Object.fromEntries(table.columns.map(({ id }) => [id, table.store.sampleOf(id)])));
  if (column) return draftOf(column);
  const draft = newDraft(template?.templateId ?? 'manual', template?.header ?? '', providers);
  return withGuessedInputs(draft, table.columns, (columnId) => samples[columnId] ?? []);
}

/** The form for a column: its draft, saving it, and conflicts with what somebody else saved meanwhile. */
export function useColumnForm({ table, column, template, onSaved }: Options) {
  const providers = useQuery(providersQuery);
  const [edits, setEdits] = useState<Edits>(NO_EDITS);
  const [fixes, setFixes] = useState<string[]>([]);
  const [conflict, setConflict] = useState<Conflict>();
  const save = useSaveColumn(table.project.id, column?.id);
  const fetchStored = useFetchColumn(table.project.id, column?.id);

  const start = useStart(table, column, template, providers.data ?? []);
  const changes = merged(edits, start);
  const draft: ColumnDraft = { ...start, ...changes };
  const isChanged = hasChanges(start, changes);
  const forget = useUnsaved(isChanged);
  const validation = useValidation(draft, save.error);

  const submit = async (isRunAfter: boolean, attempt = 1): Promise<void> => {
    if (!validation.check()) return;
    // Somebody else may have saved the column while this form was open.
    const stored = (await fetchStored.mutateAsync().catch(() => undefined)) ?? { draft: start, tag: undefined };
    const fields = column ? findDraftConflicts(edits, stored.draft) : [];
    if (fields.length > 0) return setConflict({ fields, stored, isRunAfter });
    // A proxy may have changed the tag: in the end it is saved as it was compared.
    await store(edits, attempt < ATTEMPTS_MAX ? stored : { ...stored, tag: undefined }, isRunAfter, attempt);
  };

  const store = async (sent: Edits, { draft, tag }: StoredColumn, isRunAfter: boolean, attempt = 1): Promise<void> => {
    const saved = await save.mutateAsync({ draft: { ...draft, ...merged(sent, draft) }, stored: draft, tag }).catch((error: unknown) => {
      return isChangedMeanwhile(error) ? ('changed' as const) : undefined;
    });
    // Somebody else saved it after it was fetched: compare again.
    if (saved === 'changed') return submit(isRunAfter, attempt + 1);
    if (!saved) return validation.showFirstError();
    validation.reset();
    forget();
    // Keeps what was typed while the request was in flight.
    setEdits((now) => withChange(NO_EDITS, changedSince(sent.changes, now.changes), saved.stored));
    setFixes(saved.appliedFixes.filter(isWorthShowing));
    // Another type may sort and filter otherwise.
    if (sent.changes.format !== undefined) table.store.refresh();
    if (isRunAfter) await table.runs.run({ columnIds: [saved.columnId] });
    onSaved(saved.columnId);
  };

  const resolve = (choose: typeof keepMine) => {
    if (!conflict) return;
    const { stored, isRunAfter } = conflict;
    const resolved = choose(edits, stored.draft);
    setConflict(undefined);
    const hasMore = hasChanges(stored.draft, merged(resolved, stored.draft));
    setEdits(hasMore ? resolved : NO_EDITS);
    if (hasMore) void store(resolved, stored, isRunAfter);
  };

  return {
    draft,
    change: (part: DraftPart) => setEdits((old) => withChange(old, part, start)),
    isChanged,
    isSaving: fetchStored.isPending || save.isPending,
    submit,
    saveError: save.error,
    errors: validation.errors,
    body: validation.body,
    fixes,
    closeFixes: () => setFixes([]),
    conflicts: conflict?.fields,
    keepTheirs: () => resolve(keepTheirs),
    keepMine: () => resolve(keepMine),
    closeConflicts: () => setConflict(undefined),
  };
}

/** Errors by field. Missing fields are reported only after the first attempt to save, and until they are filled. */
function useValidation(draft: ColumnDraft, saveError: unknown) {
  const [isChecked, setIsChecked] = useState(false);
  const body = useRef<HTMLDivElement>(null);
  const missing = missingFields(draft);
  const showFirstError = () => {
    // After the next render, which shows the errors.
    requestAnimationFrame(() => {
      body.current?.querySelector('[role="alert"]')?.scrollIntoView({ block: 'nearest' });
      body.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
    });
  };
  const check = () => {
    setIsChecked(true);
    const isComplete = Object.keys(missing).length === 0;
    if (!isComplete) showFirstError();
    return isComplete;
  };
  return {
    errors: { ...fieldErrors(saveError), ...(isChecked && missing) },
    /** Ref for the element that contains the fields. */
    body,
    check,
    reset: () => setIsChecked(false),
    showFirstError,
  };
}
