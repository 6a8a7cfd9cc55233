import { Button, Group } from '@mantine/core';

interface Props {
  /** What the form does. */
  label: string;
  isSaving: boolean;
  isDisabled: boolean;
  onCancel: () => void;
}

/** The last line of a form in a dialog. */
export function DialogButtons({ label, isSaving, isDisabled, onCancel }: Props) {
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onCancel}>
        Cancel
      </Button>
      <Button type="submit" loading={isSaving} disabled={isDisabled}>
        {label}
      </Button>
    </Group>
  );
}
