import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { Icon, type IconName } from '../ui/Icon';
import type { Sample } from '../table/recipes/sample';
import classes from './Projects.module.css';
import { SampleList } from './SampleList';

interface Props {
  onCreate: () => void;
  /** Without a sample: the one of companies. */
  onSample: (sample?: Sample) => void;
  isMakingSample: boolean;
}

const STEPS: { icon: IconName; title: string; text: string }[] = [
  { icon: 'table', title: 'Add rows', text: 'Type them, paste them from a spreadsheet, drop a CSV file, or send them through the API.' },
  {
    icon: 'spark',
    title: 'Add columns that fill themselves',
    text: 'A prompt, a web page, an e-mail finder, any HTTP API. Columns can build on each other.',
  },
  { icon: 'play', title: 'Run them and watch', text: 'Every cell shows its status. Stop and continue at any time.' },
];

/** The empty state of the projects page. */
export function FirstProject({ onCreate, onSample, isMakingSample }: Props) {
  return (
    <Stack align="center" gap={36} py={{ base: 'md', sm: 48 }}>
      <Stack align="center" gap="xs" maw={560}>
        <Title order={1} ta="center">
          A table whose columns fill themselves
        </Title>
        <Text c="dimmed" ta="center" size="lg">
          The sample runs right away, without an API key. Or start with an empty table.
        </Text>
      </Stack>
      <Group justify="center">
        <Button size="md" leftSection={<Icon name="wand" />} loading={isMakingSample} onClick={() => onSample()}>
          Open sample project
        </Button>
        <Button size="md" variant="default" leftSection={<Icon name="plus" />} onClick={onCreate}>
          Start with an empty table
        </Button>
      </Group>
      <SampleList isBusy={isMakingSample} onSample={onSample} />
      <ol className={classes.steps}>
        {STEPS.map((step) => (
          <li key={step.title} className={classes.step}>
            <span className={classes.mark} aria-hidden>
              <Icon name={step.icon} size={20} />
            </span>
            <Text fw={620}>{step.title}</Text>
            <Text size="sm" c="dimmed">
              {step.text}
            </Text>
          </li>
        ))}
      </ol>
    </Stack>
  );
}
