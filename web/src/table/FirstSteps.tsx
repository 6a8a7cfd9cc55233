import { Button, Group, Popover, Stack, Text } from '@mantine/core';
import { dismissFirstSteps, FIRST_STEPS, type FirstStep, useFirstSteps } from '../ui/firstSteps';
import { Icon } from '../ui/Icon';
import classes from './FirstSteps.module.css';

const TEXTS: Record<FirstStep, [title: string, how: string]> = {
  import: ['Import your list', 'Import above, or drop a CSV file on the table.'],
  column: ['Add a column', 'The plus behind the last column. Recipes are there, too.'],
  try: ['Try it on a row', 'In the column’s panel, before anything is saved.'],
  run: ['Run it', 'Run above, or the arrow in a column’s header.'],
  export: ['Export the result', 'Export above, as CSV or JSON Lines.'],
};

/** What to do in the first days. It ticks itself off, and can be dismissed. */
export function FirstSteps() {
  const { isStarted, isDismissed, done } = useFirstSteps();
  if (!isStarted || isDismissed) return null;
  const isOver = done.length === FIRST_STEPS.length;
  return (
    <Popover position="top-end" width={320} shadow="md" withArrow>
      <Popover.Target>
        <button type="button" className={classes.button}>
          {isOver ? 'First steps done' : `First steps · ${done.length} of ${FIRST_STEPS.length}`}
        </button>
      </Popover.Target>
      <Popover.Dropdown aria-label="First steps">
        <Stack gap="sm">
          <ol className={classes.steps}>
            {FIRST_STEPS.map((step) => (
              <Step key={step} title={TEXTS[step][0]} how={TEXTS[step][1]} isDone={done.includes(step)} />
            ))}
          </ol>
          <Group justify="flex-end">
            <Button size="xs" variant={isOver ? 'light' : 'subtle'} color={isOver ? undefined : 'gray'} onClick={dismissFirstSteps}>
              {isOver ? 'Close for good' : 'Dismiss'}
            </Button>
          </Group>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

function Step({ title, how, isDone }: { title: string; how: string; isDone: boolean }) {
  return (
    <li className={classes.step} data-done={isDone || undefined}>
      <span className={classes.tick} aria-hidden>
        {isDone && <Icon name="check" size={13} />}
      </span>
      <span>
        <Text size="sm" fw={600} component="span" display="block">
          {title}
          {isDone && <span className={classes.hidden}> (done)</span>}
        </Text>
        {!isDone && (
          <Text size="xs" c="dimmed" component="span" display="block">
            {how}
          </Text>
        )}
      </span>
    </li>
  );
}
