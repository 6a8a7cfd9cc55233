import { Text } from '@mantine/core';
import { type Sample, SAMPLES } from '../table/recipes/sample';
import { Icon } from '../ui/Icon';
import classes from './Projects.module.css';

/** Sample tables for what people do most. */
export function SampleList({ isBusy, onSample }: { isBusy: boolean; onSample: (sample: Sample) => void }) {
  return (
    <section className={classes.samples} aria-label="Sample tables">
      {SAMPLES.map((sample) => (
        <button key={sample.name} type="button" className={classes.sample} disabled={isBusy} onClick={() => onSample(sample)}>
          <span className={classes.mark} aria-hidden>
            <Icon name={sample.icon} size={20} />
          </span>
          <span>
            <Text component="span" display="block" fw={620} size="sm">
              {sample.name}
            </Text>
            <Text component="span" display="block" size="sm" c="dimmed">
              {sample.about}
            </Text>
          </span>
        </button>
      ))}
    </section>
  );
}
