import { Select } from '@mantine/core';
import { useFieldErrors } from '../../ui/fieldErrors';
import type { SectionProps } from './sectionProps';

type Processing = NonNullable<NonNullable<SectionProps['draft']['aiConfig']>['processing']>;

interface ProcessingProps {
  processing: Processing;
  onChange: (processing: Processing) => void;
}

const CHOICES: { value: Processing; label: string }[] = [
  { value: 'realtime', label: 'Now' },
  { value: 'batch', label: 'In batches (half price, up to 24 hours)' },
];

/** Whether cells are asked one by one, or sent together through the provider’s batch API. */
export function ProcessingField({ processing, onChange }: ProcessingProps) {
  const errors = useFieldErrors();
  return (
    <Select
      label="Process"
      description={processing === 'batch' ? 'Not with files or a fallback. Try asks at once, at the full price.' : undefined}
      allowDeselect={false}
      data={CHOICES}
      value={processing}
      error={errors['aiConfig.processing']}
      onChange={(value) => onChange((value as Processing | null) ?? 'realtime')}
    />
  );
}
