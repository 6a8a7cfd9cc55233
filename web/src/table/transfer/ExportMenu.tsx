import { Button, Menu, Text } from '@mantine/core';
import { tickFirstStep } from '../../ui/firstSteps';
import { Icon } from '../../ui/Icon';
import type { Table } from '../state/useTable';
import { type ExportChoice, exportChoices } from './exportChoices';

/** Downloads the current view or everything. The service streams it, so the browser keeps nothing in memory. */
export function ExportMenu({ table }: { table: Table }) {
  const choices = exportChoices(table);
  const shown = choices.filter(({ part }) => part === 'this view');
  return (
    <Menu position="bottom-end" width={310}>
      <Menu.Target>
        <Button variant="subtle" color="gray" px={10} leftSection={<Icon name="download" />} style={{ flexShrink: 0 }}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {shown.length > 0 && <Menu.Label>Current view</Menu.Label>}
        {shown.map(item)}
        <Menu.Label>All rows and columns</Menu.Label>
        {choices.filter(({ part }) => part === 'everything').map(item)}
      </Menu.Dropdown>
    </Menu>
  );
}

function item({ label, note, part, url }: ExportChoice) {
  return (
    <Menu.Item key={part + label} component="a" href={url} download onClick={() => tickFirstStep('export')} leftSection={<Icon name="download" />}>
      {label}
      <Text size="xs" c="dimmed">
        {note}
      </Text>
    </Menu.Item>
  );
}
