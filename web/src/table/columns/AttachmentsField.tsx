import { MultiSelect } from '@mantine/core';
import type { Column } from '../../api/types';
import { useFieldErrors } from '../../ui/fieldErrors';

const ATTACHMENTS_MAX = 4;

interface Props {
  /** Addresses, such as `@{columnId}`. */
  attachments: readonly string[];
  columns: readonly Column[];
  onChange: (attachments: string[]) => void;
}

/** The columns whose images and PDF documents go with the prompt. */
export function AttachmentsField({ attachments, columns, onChange }: Props) {
  const errors = useFieldErrors();
  const chosen = attachments.filter((address) => address.trim() !== '');
  const offered = columns.map(({ id, header }) => ({ value: `@{${id}}`, label: header }));
  // Somebody may have written more than a column through the API.
  const others = chosen.filter((address) => !offered.some(({ value }) => value === address));
  return (
    <MultiSelect
      label="Images and files"
      description="Columns with the URL of an image or a PDF document. The file is sent with the prompt."
      placeholder={chosen.length === 0 ? 'None' : undefined}
      searchable
      clearable
      maxValues={ATTACHMENTS_MAX}
      data={[...offered, ...others.map((address) => ({ value: address, label: address }))]}
      value={chosen}
      error={errors['aiConfig.attachments']}
      onChange={onChange}
    />
  );
}
