import { Text } from '@mantine/core';
import { errorMessage } from '../api/error';

/** Why something was not saved. */
export function SaveProblem({ error }: { error: Error | null }) {
  if (!error) return null;
  return (
    <Text size="sm" c="red" role="alert">
      {errorMessage(error)}
    </Text>
  );
}
