import { Button, Center, Stack, Text, Title } from '@mantine/core';
import { Link } from 'wouter';

export function NotFoundPage() {
  return (
    <Center component="main" h="100%" p="xl">
      <Stack align="center" gap="sm">
        <Title order={1} size="h2">
          There is nothing at this address
        </Title>
        <Text c="dimmed">It may have been deleted, or it belongs to another team.</Text>
        <Button component={Link} href="/">
          Go to the projects
        </Button>
      </Stack>
    </Center>
  );
}
