import { Checkbox, Modal, MultiSelect, Select, Stack, TagsInput, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { errorMessage, fieldErrors } from '../api/error';
import { createKey } from '../api/operations';
import { projectsQuery } from '../api/queries';
import type { Scope } from '../api/types';
import { useSession } from '../shell/session';
import { EXPIRIES, grantedScopes, type KeyForm, keyBody, SCOPES } from './keyScopes';
import { DialogButtons } from '../ui/DialogButtons';

interface Props {
  title: string;
  placeholder: string;
  /** The scopes that are ticked at first, as far as one has them oneself. */
  scopes: readonly Scope[];
  onCreated: (secret: string) => void;
  onClose: () => void;
}

/** Asks what a new API key is for and what it may do, and creates it. */
export function KeyDialog({ title, placeholder, scopes, onCreated, onClose }: Props) {
  const own = useSession().scopes;
  const initial = { name: '', scopes: scopes.filter((scope) => own.includes(scope)), projectIds: [], expiry: 'never', allowFrom: [] };
  const [form, setForm] = useState<KeyForm>(initial);
  const change = (part: Partial<KeyForm>) => setForm((old) => ({ ...old, ...part }));
  const queryClient = useQueryClient();
  const create = useMutation({
    mutationFn: () => createKey(keyBody(form)),
    onSuccess: ({ secret }) => {
      void queryClient.invalidateQueries({ queryKey: ['keys'] });
      onCreated(secret);
      onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    create.mutate();
  };
  const errors = fieldErrors(create.error);
  const canCreate = form.name.trim() !== '' && grantedScopes(form).length > 0;
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label="Key name"
            placeholder={placeholder}
            value={form.name}
            maxLength={255}
            data-autofocus
            error={errors.name}
            onChange={(event) => change({ name: event.currentTarget.value })}
          />
          <ScopeChoice form={form} own={own} onChange={(chosen) => change({ scopes: chosen })} />
          <Limits form={form} errors={errors} onChange={change} />
          {create.isError && (
            <Text size="sm" c="red" role="alert">
              {errorMessage(create.error)}
            </Text>
          )}
          <DialogButtons label="Create key" isSaving={create.isPending} isDisabled={!canCreate} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}

interface ScopeChoiceProps {
  form: KeyForm;
  own: readonly Scope[];
  onChange: (scopes: Scope[]) => void;
}

function ScopeChoice({ form, own, onChange }: ScopeChoiceProps) {
  return (
    <Checkbox.Group label="The key may" value={grantedScopes(form)} onChange={(chosen) => onChange(chosen as Scope[])}>
      <Stack gap={8} mt={6}>
        {SCOPES.map(({ scope, label, description }) => {
          const isForTeam = scope === 'admin' && form.projectIds.length > 0;
          const reason = isForTeam ? 'Not for a key that is limited to projects.' : 'Your own key does not have this scope.';
          const isOff = isForTeam || !own.includes(scope);
          return <Checkbox key={scope} value={scope} label={label} description={isOff ? reason : description} disabled={isOff} />;
        })}
      </Stack>
    </Checkbox.Group>
  );
}

interface LimitsProps {
  form: KeyForm;
  errors: Record<string, string>;
  onChange: (part: Partial<KeyForm>) => void;
}

/** Where, how long and from where the key works. */
function Limits({ form, errors, onChange }: LimitsProps) {
  const projects = useQuery(projectsQuery);
  return (
    <>
      <MultiSelect
        label="Projects"
        description="The only projects the key can see. Empty: all, including new ones."
        placeholder={form.projectIds.length === 0 ? 'All projects' : undefined}
        data={(projects.data ?? []).map(({ id, title }) => ({ value: id, label: title }))}
        value={[...form.projectIds]}
        maxValues={100}
        searchable
        clearable
        nothingFoundMessage="No project has this name"
        onChange={(projectIds) => onChange({ projectIds })}
      />
      <Select
        label="Expires"
        data={EXPIRIES}
        value={form.expiry}
        allowDeselect={false}
        error={errors.expiresAt}
        onChange={(expiry) => onChange({ expiry: expiry ?? 'never' })}
      />
      <TagsInput
        label="Allowed addresses"
        description="Addresses such as 192.0.2.7, or ranges such as 10.0.0.0/8. Empty: any."
        value={[...form.allowFrom]}
        maxTags={100}
        splitChars={[',', ' ']}
        acceptValueOnBlur
        error={Object.entries(errors).find(([path]) => path.startsWith('allowFrom'))?.[1]}
        onChange={(allowFrom) => onChange({ allowFrom })}
      />
    </>
  );
}
