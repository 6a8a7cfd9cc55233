import { Button, Menu, Text } from '@mantine/core';
import { type Sample, SAMPLES } from '../table/recipes/sample';
import { Icon } from '../ui/Icon';

interface Props {
  isBusy: boolean;
  /** Without a sample: the one of companies. */
  onSample: (sample?: Sample) => void;
}

/** Adds a sample table. */
export function SampleMenu({ isBusy, onSample }: Props) {
  return (
    <Menu position="bottom-end" width={300}>
      <Menu.Target>
        <Button variant="default" loading={isBusy} rightSection={<Icon name="chevronDown" size={15} />}>
          Add sample project
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<Icon name="wand" />} onClick={() => onSample()}>
          Companies
          <Text size="xs" c="dimmed">
            Ten websites and what they say.
          </Text>
        </Menu.Item>
        {SAMPLES.map((sample) => (
          <Menu.Item key={sample.name} leftSection={<Icon name={sample.icon} />} onClick={() => onSample(sample)}>
            {sample.name}
            <Text size="xs" c="dimmed">
              {sample.about}
            </Text>
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
