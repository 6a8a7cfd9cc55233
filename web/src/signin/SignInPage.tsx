import { Alert, Anchor, Button, Code, Paper, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, errorMessage } from '../api/error';
import { sessionQuery } from '../api/queries';
import { signIn } from '../api/session';
import { Brand } from '../shell/Brand';
import classes from './SignInPage.module.css';

export function SignInPage() {
  const [key, setKey] = useState('');
  const queryClient = useQueryClient();
  const hasExpired = new URLSearchParams(window.location.search).get('signin') === 'expired';
  const submit = useMutation({
    mutationFn: () => signIn(key.trim()),
    onSuccess: (session) => {
      const query = new URLSearchParams(window.location.search);
      query.delete('signin');
      window.history.replaceState(null, '', window.location.pathname + (query.size > 0 ? `?${query}` : ''));
      queryClient.setQueryData(sessionQuery.queryKey, session);
    },
  });
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (key.trim()) submit.mutate();
  };

  return (
    <main className={classes.page}>
      <Paper withBorder shadow="sm" radius="lg" p={{ base: 'lg', sm: 36 }} className={classes.card}>
        <Stack gap="lg">
          <Brand />
          <div>
            <Title order={1} size="h2">
              Sign in
            </Title>
            <Text c="dimmed" mt={4}>
              Use one of your team’s API keys. The key stays on the server; this browser only keeps a session.
            </Text>
          </div>
          {hasExpired && (
            <Alert color="yellow" title="This link does not work any more" variant="light">
              A sign-in link works once, within an hour. Use the API key that was printed next to it, or create a new one with{' '}
              <Code>rowmill key create --team default</Code>.
            </Alert>
          )}
          <form onSubmit={onSubmit}>
            <Stack gap="md">
              <PasswordInput
                label="API key"
                placeholder="rm_…"
                value={key}
                onChange={(event) => setKey(event.currentTarget.value)}
                autoComplete="current-password"
                autoFocus
                size="md"
                error={submit.isError ? reason(submit.error) : undefined}
                visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the key' }}
              />
              <Button type="submit" size="md" loading={submit.isPending} disabled={!key.trim()}>
                Sign in
              </Button>
            </Stack>
          </form>
          <Text size="sm" c="dimmed">
            No key? The server’s administrator can create one with <Code>rowmill key create --team default</Code>.{' '}
            <Anchor href="./docs" size="sm" underline="always">
              Read the API reference
            </Anchor>
            .
          </Text>
        </Stack>
      </Paper>
    </main>
  );
}

function reason(error: unknown): string {
  if (!(error instanceof ApiError)) return errorMessage(error);
  if (error.message.startsWith('Invalid API key: it expired')) return 'This key has expired. Sign in with another one.';
  const isUnknown = error.code === 'invalid_api_key' || error.status === 401;
  if (isUnknown) return 'This key is unknown or was revoked. Check that you copied all of it, including rm_.';
  return errorMessage(error);
}
