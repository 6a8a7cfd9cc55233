import { Anchor, Paper, Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface Props {
  title: string;
  text?: ReactNode;
  /** The guide that says more, as it is called below /docs. */
  guide?: string;
  children?: ReactNode;
}

/** A settings section. */
export function Card({ title, text, guide, children }: Props) {
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
              {guide && (
                <>
                  {' '}
                  <Anchor href={`./docs/${guide}`} target="_blank" size="sm" underline="always">
                    Read more
                  </Anchor>
                </>
              )}
            </Text>
          )}
        </div>
        {children}
      </Stack>
    </Paper>
  );
}
