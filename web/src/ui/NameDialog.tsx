import { Modal, Stack, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { errorMessage } from '../api/error';
import { DialogButtons } from './DialogButtons';

interface Props {
  title: string;
  label: string;
  initial?: string;
  placeholder?: string;
  action: string;
  onSubmit: (name: string) => Promise<unknown>;
  onClose: () => void;
}

/** Asks for a name. */
export function NameDialog({ title, label, initial = '', placeholder, action, onSubmit, onClose }: Props) {
  const [name, setName] = useState(initial);
  const submit = useMutation({ mutationFn: () => onSubmit(name.trim()), onSuccess: onClose });
  const handle = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim()) submit.mutate();
  };
  return (
    <Modal opened onClose={onClose} title={title} size="sm" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={handle}>
        <Stack>
          <TextInput
            label={label}
            value={name}
            placeholder={placeholder}
            maxLength={255}
            data-autofocus
            onChange={(event) => setName(event.currentTarget.value)}
            error={submit.isError ? errorMessage(submit.error) : undefined}
          />
          <DialogButtons label={action} isSaving={submit.isPending} isDisabled={!name.trim()} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
