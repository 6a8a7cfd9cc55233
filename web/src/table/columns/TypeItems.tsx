import { Menu } from '@mantine/core';
import type { Column, Format, FormatType } from '../../api/types';
import { Icon } from '../../ui/Icon';
import { notifyError } from '../../ui/notify';
import { TYPE_CHOICES, TYPES } from '../formats/format';
import { formatOf } from '../formats/options';
import type { Table } from '../state/useTable';
import { sampleValues } from './sampleValues';
import type { ColumnActions } from './useColumnActions';
import { useGuess } from './useGuess';

interface Props {
  table: Table;
  column: Column;
  actions: ColumnActions;
}

/** Items of a header's menu that choose the type of the values, and that find values that do not fit. */
export function TypeItems({ table, column, actions }: Props) {
  const { state, change } = table.views;
  const { format } = column;
  const guess = useGuess(table, column);
  const choose = (next: Format | null) => void actions.setFormat(column.id, next).catch((error: unknown) => notifyError(error, 'The type was not changed'));
  const showMisfits = () => {
    const filters = state.filters.filter((node) => !('columnId' in node && node.columnId === column.id && node.operator === 'isInvalid'));
    change({ ...state, filters: [...filters, { columnId: column.id, operator: 'isInvalid' }] });
  };
  return (
    <>
      <Menu.Sub>
        <Menu.Sub.Target>
          <Menu.Sub.Item leftSection={<Icon name={format ? TYPES[format.type].icon : 'text'} />}>Type: {format ? TYPES[format.type].label : 'Automatic'}</Menu.Sub.Item>
        </Menu.Sub.Target>
        <Menu.Sub.Dropdown mah="70vh" style={{ overflowY: 'auto' }}>
          {guess && (
            <>
              <Menu.Item leftSection={<Icon name="wand" />} onClick={() => choose(guess.format)}>
                Suggested: {TYPES[guess.format.type].label}
              </Menu.Item>
              <Menu.Divider />
            </>
          )}
          {TYPE_CHOICES.map(({ value, label }) => (
            <Menu.Item
              key={value}
              leftSection={<Icon name={TYPES[value].icon} />}
              rightSection={format?.type === value && <Icon name="check" size={15} label="Chosen" />}
              onClick={() => choose(formatOf(value as FormatType, sampleValues(table, column.id)))}
            >
              {label}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item leftSection={<Icon name="close" />} disabled={!format} onClick={() => choose(null)}>
            Automatic
          </Menu.Item>
        </Menu.Sub.Dropdown>
      </Menu.Sub>
      {format && (
        <Menu.Item leftSection={<Icon name="warn" />} onClick={showMisfits}>
          Show values that do not fit
        </Menu.Item>
      )}
    </>
  );
}
