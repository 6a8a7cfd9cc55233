import { Button, Group, Modal, Select, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { errorMessage } from '../api/error';
import { rotateKey } from '../api/operations';
import type { ApiKey } from '../api/types';
import { isExpired } from './keyScopes';

interface Props {
  rotated: ApiKey;
  onCreated: (secret: string) => void;
  onClose: () => void;
}

const OVERLAPS = [
  { value: '0', label: 'Stops now' },
  { value: '1', label: 'Works for another hour' },
  { value: '24', label: 'Works for another day' },
  { value: '168', label: 'Works for another week' },
];
const YEAR_MS = 365 * 86_400_000;

/** Replaces a key by a new one, with time to change programs over. */
export function RotateKeyDialog({ rotated, onCreated, onClose }: Props) {
  const [hours, setHours] = useState('24');
  const queryClient = useQueryClient();
  const rotate = useMutation({
    mutationFn: () => {
      const now = Date.now();
      const oldExpiresAt = new Date(now + Number(hours) * 3_600_000).toISOString();
      // What has expired says no more how long its successor shall live.
      const expiresAt = isExpired(rotated, now) ? { expiresAt: new Date(now + YEAR_MS).toISOString() } : {};
      return rotateKey(rotated.id, { oldExpiresAt, ...expiresAt });
    },
    onSuccess: ({ secret }) => {
      void queryClient.invalidateQueries({ queryKey: ['keys'] });
      onCreated(secret);
      onClose();
    },
  });
  return (
    <Modal opened onClose={onClose} title={`Rotate “${rotated.name}”?`} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack>
        <Text size="sm">
          You get a new key that may do the same. Put it into your programs before the old one stops. Browsers signed in with the old
          key are signed out then.
        </Text>
        <Select label="The old key" data={OVERLAPS} value={hours} allowDeselect={false} onChange={(value) => setHours(value ?? '24')} />
        {rotate.isError && (
          <Text size="sm" c="red" role="alert">
            {errorMessage(rotate.error)}
          </Text>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button loading={rotate.isPending} data-autofocus onClick={() => rotate.mutate()}>
            Rotate key
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
