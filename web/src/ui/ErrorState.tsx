import { Button, Center, Stack, Text, Title } from '@mantine/core';
import { errorMessage } from '../api/error';
import { Icon } from './Icon';

interface Props {
  error: unknown;
  onRetry: () => void;
  retryLabel?: string;
  /** Fills the window, because there is no page around it. */
  isPage?: boolean;
}

export function ErrorState({ error, onRetry, retryLabel = 'Try again', isPage = false }: Props) {
  return (
    <Center component={isPage ? 'main' : 'div'} h="100%" mih={240} p="xl">
      <Stack align="center" gap="sm" maw={460} role="alert">
        <Icon name="warn" size={32} style={{ color: 'var(--mantine-color-red-6)' }} />
        <Title order={1} size="h3">
          This could not be loaded
        </Title>
        <Text c="dimmed" ta="center">
          {errorMessage(error)}
        </Text>
        <Button variant="default" onClick={onRetry}>
          {retryLabel}
        </Button>
      </Stack>
    </Center>
  );
}
