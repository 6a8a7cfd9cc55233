import { Alert } from '@mantine/core';
import { CopyField } from '../ui/CopyField';

interface Props {
  label: string;
  secret: string;
  onClose: () => void;
}

/** A secret that is shown only once. */
export function OneTimeSecret({ label, secret, onClose }: Props) {
  return (
    <Alert color="mill" title="Copy it now. It is shown only once." withCloseButton closeButtonLabel="Close" onClose={onClose}>
      <CopyField label={label} value={secret} />
    </Alert>
  );
}
