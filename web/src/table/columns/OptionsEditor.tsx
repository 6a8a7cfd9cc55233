import { ActionIcon, Button, Group, Input, Menu, Stack, TextInput } from '@mantine/core';
import type { Format, SelectOption } from '../../api/types';
import { Icon } from '../../ui/Icon';
import { chipOf } from '../display/typedDisplay';
import { colorAt, COLORS } from '../formats/options';
import { ChipLabel } from '../grid/ChipLabel';

interface Props {
  format: Format;
  onChange: (options: SelectOption[]) => void;
}

/** The options of a select: their texts, colours and order. */
export function OptionsEditor({ format, onChange }: Props) {
  const options = format.options ?? [];
  const replace = (place: number, change: Partial<SelectOption>) => onChange(options.map((option, at) => (at === place ? { ...option, ...change } : option)));
  const swap = (place: number, other: number) => {
    const [a, b] = [options[place], options[other]];
    if (a && b) onChange(options.map((option, at) => (at === place ? b : at === other ? a : option)));
  };
  return (
    <div>
      <Input.Label component="div" mb={6}>
        Options
      </Input.Label>
      <Stack gap={6}>
        {options.map((option, place) => (
          <Group key={place} gap={4} wrap="nowrap">
            <ColorMenu format={format} option={option} onChoose={(color) => replace(place, { color })} />
            <TextInput
              size="xs"
              flex={1}
              aria-label={`Option ${place + 1}`}
              maxLength={200}
              value={option.value}
              onChange={(event) => replace(place, { value: event.currentTarget.value })}
            />
            <ActionIcon variant="subtle" color="gray" aria-label="Move up" disabled={place === 0} onClick={() => swap(place, place - 1)}>
              <Icon name="arrowUp" size={15} />
            </ActionIcon>
            <ActionIcon variant="subtle" color="gray" aria-label="Remove this option" onClick={() => onChange(options.filter((_, at) => at !== place))}>
              <Icon name="close" size={15} />
            </ActionIcon>
          </Group>
        ))}
        <div>
          <Button
            size="xs"
            variant="subtle"
            leftSection={<Icon name="plus" size={15} />}
            onClick={() => onChange([...options, { value: `Option ${options.length + 1}`, color: colorAt(options.length) }])}
          >
            Add an option
          </Button>
        </div>
      </Stack>
    </div>
  );
}

interface ColorProps {
  format: Format;
  option: SelectOption;
  onChoose: (color: SelectOption['color']) => void;
}

function ColorMenu({ format, option, onChoose }: ColorProps) {
  const chip = (color: SelectOption['color']) => <ChipLabel chip={chipOf('Aa', { ...format, options: [{ value: 'Aa', ...(color && { color }) }] })} />;
  return (
    <Menu position="bottom-start" width={120}>
      <Menu.Target>
        <button type="button" aria-label={`Colour of ${option.value}`} style={{ border: 'none', background: 'none', padding: 0, cursor: 'pointer' }}>
          {chip(option.color)}
        </button>
      </Menu.Target>
      <Menu.Dropdown>
        {COLORS.map((color) => (
          <Menu.Item key={color} leftSection={chip(color)} onClick={() => onChoose(color)}>
            {color}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
