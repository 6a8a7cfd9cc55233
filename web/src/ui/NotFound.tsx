import { Button, Center, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';

/** Not found page with a link back. */
export function NotFound() {
  return (
    <Center h="100%" p="xl">
      <Stack align="center" gap="sm">
        <Title order={1} size="h2" ta="center">
          Page not found
        </Title>
        <Text c="dimmed" ta="center">
          It may have been deleted, or it may belong to another team.
        </Text>
        <Button component={Link} href="/">
          Go to projects
        </Button>
      </Stack>
    </Center>
  );
}
