import { Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** A settings section. */
export function Card({ title, text, children }: { title: string; text?: ReactNode; children?: ReactNode }) {
  return (
    <Paper withBorder radius="lg" p="lg" mb="md" component="section">
      <Stack gap="md">
        <div>
          <Title order={2} size="h4">
            {title}
          </Title>
          {text && (
            <Text size="sm" c="dimmed" mt={4}>
              {text}
            </Text>
          )}
        </div>
        {children}
      </Stack>
    </Paper>
  );
}
