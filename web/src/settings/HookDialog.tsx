import { ActionIcon, Button, Checkbox, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { errorMessage, fieldErrors } from '../api/error';
import { changeHook, createHook } from '../api/operations';
import type { Hook, Project, UnknownKeys } from '../api/types';
import { DialogButtons } from '../ui/DialogButtons';
import { Icon } from '../ui/Icon';
import { unsaved, useUnsaved } from '../ui/unsaved';
import { UNKNOWN_KEYS, writableColumns } from './inbound';

interface Props {
  project: Project;
  hook: Hook | undefined;
  /** Called with the address of a new hook. */
  onSaved: (url?: string) => void;
  onClose: () => void;
}

interface HeaderRow {
  name: string;
  column: string;
}

/** Creates or changes an inbound hook. */
export function HookDialog({ project, hook, onSaved, onClose }: Props) {
  const columns = writableColumns(project);
  const [name, setName] = useState(hook?.name ?? '');
  const [unknownKeys, setUnknownKeys] = useState<UnknownKeys>(hook?.unknownKeys ?? 'keep');
  const [matchOn, setMatchOn] = useState<string | null>(hook?.matchOn ?? null);
  const [matchCase, setMatchCase] = useState(hook?.matchCase ?? true);
  const [headers, setHeaders] = useState<HeaderRow[]>(Object.entries(hook?.headers ?? {}).map(([header, column]) => ({ name: header, column })));
  const forget = useUnsaved(name !== (hook?.name ?? ''));
  const close = () => unsaved.guard(onClose);
  const save = useMutation({
    mutationFn: async () => {
      const filled = headers.filter((header) => header.name.trim() && header.column);
      const body = { name, unknownKeys, matchOn, matchCase, headers: Object.fromEntries(filled.map((header) => [header.name.trim(), header.column])) };
      if (hook) {
        await changeHook(project.id, hook.id, body);
        return undefined;
      }
      return (await createHook(project.id, body)).url;
    },
    onSuccess: (url) => {
      forget();
      onSaved(url);
    },
  });
  const errors = fieldErrors(save.error);
  const isTold = errors.name !== undefined || errors.matchOn !== undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Modal opened onClose={close} title={hook ? 'Edit hook' : 'New hook'} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput label="Name" placeholder="Contact form" value={name} error={errors.name} data-autofocus onChange={(event) => setName(event.currentTarget.value)} />
          <Select
            label="Keys that name no column"
            data={[...UNKNOWN_KEYS]}
            value={unknownKeys}
            allowDeselect={false}
            onChange={(value) => setUnknownKeys((value ?? 'keep') as UnknownKeys)}
          />
          <Select
            label="Update the row with the same"
            description="Leave empty to add a row for every delivery."
            placeholder="Always add a row"
            data={columns}
            value={matchOn}
            error={errors.matchOn}
            clearable
            searchable
            onChange={setMatchOn}
          />
          {matchOn && <Checkbox label="Letter case matters" checked={matchCase} onChange={(event) => setMatchCase(event.currentTarget.checked)} />}
          <HeaderRows headers={headers} columns={columns} onChange={setHeaders} />
          {save.isError && !isTold && (
            <Text size="sm" c="red" role="alert">
              {[...new Set([...Object.values(errors), errorMessage(save.error)])].join(' ')}
            </Text>
          )}
          <DialogButtons label={hook ? 'Save' : 'Create hook'} isSaving={save.isPending} isDisabled={!name.trim()} onCancel={close} />
        </Stack>
      </form>
    </Modal>
  );
}

interface HeaderRowsProps {
  headers: HeaderRow[];
  columns: { value: string; label: string }[];
  onChange: (headers: HeaderRow[]) => void;
}

/** Headers of the request that are written into columns. */
function HeaderRows({ headers, columns, onChange }: HeaderRowsProps) {
  const change = (index: number, part: Partial<HeaderRow>) => onChange(headers.map((header, at) => (at === index ? { ...header, ...part } : header)));
  return (
    <Stack gap={6}>
      {headers.map((header, index) => (
        <Group key={index} gap={6} wrap="nowrap" align="flex-end">
          <TextInput label="Header" placeholder="X-Source" value={header.name} style={{ flex: 1 }} onChange={(event) => change(index, { name: event.currentTarget.value })} />
          <Select label="Column" data={columns} value={header.column || null} searchable style={{ flex: 1 }} onChange={(value) => change(index, { column: value ?? '' })} />
          <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Remove header" onClick={() => onChange(headers.filter((_, at) => at !== index))}>
            <Icon name="close" />
          </ActionIcon>
        </Group>
      ))}
      <div>
        <Button size="compact-sm" variant="subtle" leftSection={<Icon name="plus" size={14} />} onClick={() => onChange([...headers, { name: '', column: '' }])}>
          Write a request header into a column
        </Button>
      </div>
    </Stack>
  );
}
