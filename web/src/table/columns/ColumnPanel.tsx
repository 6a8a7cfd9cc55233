import { Alert, Button, Stack, TextInput } from '@mantine/core';
import { errorMessage } from '../../api/error';
import type { Column } from '../../api/types';
import { isProcessed } from '../../api/types';
import { FieldErrors } from '../../ui/fieldErrors';
import { SidePanel } from '../../ui/SidePanel';
import { columnIcon } from '../model/columnIcon';
import type { TemplateId } from '../model/templates';
import type { Table } from '../state/useTable';
import { withHeaders } from '../template/tokens';
import { AdvancedSection } from './AdvancedSection';
import { ColumnHelp } from './ColumnHelp';
import { ConflictDialog } from './ConflictDialog';
import { DependencySection } from './DependencySection';
import { FormatSection } from './FormatSection';
import { StaleNote } from './StaleNote';
import { TryBox } from './TryBox';
import { TypeSection } from './TypeSection';
import { useColumnForm } from './useColumnForm';

interface Props {
  table: Table;
  /** The column to change, or the template to create one from. */
  column?: Column;
  template?: { templateId: TemplateId; header: string };
  onBack?: () => void;
  onSaved: (columnId: string) => void;
  onClose: () => void;
}

/** Side panel that configures a new or an existing column. */
export function ColumnPanel({ table, column, template, onBack, onSaved, onClose }: Props) {
  const form = useColumnForm({ table, column, template, onSaved });
  const { draft, change, errors } = form;
  const { apiConfig } = draft;
  const runs = draft.templateId !== 'manual' && draft.templateId !== 'reference';
  const others = table.columns.filter((candidate) => candidate.id !== column?.id);

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
      footer={<FooterButtons table={table} column={column} form={form} canRun={runs} />}
    >
      {form.conflicts && (
        <ConflictDialog
          crossed={form.conflicts}
          columns={table.columns}
          onKeepTheirs={form.keepTheirs}
          onSaveOver={form.keepMine}
          onClose={form.closeConflicts}
        />
      )}
      <FieldErrors value={errors}>
        <Stack gap="md" ref={form.body}>
          <TextInput
            label="Header"
            value={draft.header}
            error={errors.header}
            maxLength={255}
            onChange={(event) => change({ header: event.currentTarget.value })}
          />
          <SaveResult table={table} form={form} />
          <ColumnHelp templateId={draft.templateId} />
          {column && !form.isChanged && isProcessed(column) && <StaleNote table={table} column={column} />}
          <TypeSection table={table} draft={draft} columns={others} column={column} onChange={change} />
          {!column?.trigger && <FormatSection table={table} draft={draft} columns={others} column={column} onChange={change} />}
          {(runs || draft.templateId === 'reference') && (
            <DependencySection columns={table.columns} column={column} draft={draft} onChange={change} />
          )}
          {runs && <AdvancedSection columns={others} draft={draft} onChange={change} />}
        </Stack>
      </FieldErrors>
    </SidePanel>
  );
}

type Form = ReturnType<typeof useColumnForm>;

function FooterButtons({ table, column, form, canRun }: { table: Table; column?: Column; form: Form; canRun: boolean }) {
  const { isChanged, isSaving, submit } = form;
  return (
    <>
      {column && !isChanged && isProcessed(column) && (
        <Button variant="default" onClick={() => void table.runs.run({ columnIds: [column.id] })}>
          Run this column
        </Button>
      )}
      {(isChanged || !column) && canRun && (
        <Button variant="default" loading={isSaving} onClick={() => void submit(true)}>
          Save and run
        </Button>
      )}
      <Button disabled={!isChanged && column !== undefined} loading={isSaving} onClick={() => void submit(false)}>
        {column ? 'Save' : 'Create column'}
      </Button>
    </>
  );
}

/** What the service corrected while saving, or why it did not save. */
function SaveResult({ table, form }: { table: Table; form: Form }) {
  return (
    <>
      {form.fixes.length > 0 && (
        <Alert color="blue" title="Corrected while saving" withCloseButton onClose={form.closeFixes} closeButtonLabel="Close">
          <ul style={{ margin: 0, paddingLeft: 18 }}>
            {form.fixes.map((fix) => (
              <li key={fix}>{withHeaders(fix, table.columns)}</li>
            ))}
          </ul>
        </Alert>
      )}
      {form.saveError && (
        <Alert color="red" title="This was not saved">
          {errorMessage(form.saveError)}
        </Alert>
      )}
    </>
  );
}
