import { Button, Center, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { client, data } from '../api/client';
import { ApiError, isNotFound } from '../api/error';
import { projectQuery } from '../api/queries';
import { ErrorState } from './ErrorState';
import { Icon } from './Icon';
import { NotFound } from './NotFound';
import { notifyError } from './notify';

interface Props {
  projectId: string;
  error: unknown;
  onRetry: () => void;
}

/** Says why a project cannot be shown. If its API access is off, this is the only place to turn it on again. */
export function ProjectError({ projectId, error, onRetry }: Props) {
  const queryClient = useQueryClient();
  const enable = useMutation({
    mutationFn: () =>
      data(
        client.PATCH('/v4/projects/{projectId}', {
          params: { path: { projectId } },
          body: { settings: { api: { enabled: true } } },
        }),
      ),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: projectQuery(projectId).queryKey }),
    onError: (failure) => notifyError(failure),
  });
  if (isNotFound(error)) return <NotFound />;
  if (!(error instanceof ApiError) || error.status !== 403) return <ErrorState error={error} onRetry={onRetry} />;
  return (
    <Center h="100%" p="xl">
      <Stack align="center" gap="sm" maw={460}>
        <Icon name="lock" size={32} />
        <Title order={1} size="h3">
          API access is turned off for this project
        </Title>
        <Text c="dimmed" ta="center">
          Nobody can read or write this project, including this page, until API access is turned on. Its rows are kept.
        </Text>
        <Button loading={enable.isPending} onClick={() => enable.mutate()}>
          Turn on API access
        </Button>
      </Stack>
    </Center>
  );
}
