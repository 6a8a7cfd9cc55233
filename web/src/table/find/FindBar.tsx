import { ActionIcon, Loader, Paper, Text, TextInput, Tooltip } from '@mantine/core';
import type { KeyboardEvent } from 'react';
import { Icon } from '../../ui/Icon';
import type { Selection } from '../grid/selection';
import type { Table } from '../state/useTable';
import classes from './Find.module.css';
import { foundText } from './foundText';
import { useFind } from './useFind';

interface Props {
  table: Table;
  onSelect: (selection: Selection) => void;
  onClose: () => void;
}

/** Finds a text in the table: Enter goes to the next cell that has it, Shift + Enter to the one before. */
export default function FindBar({ table, onSelect, onClose }: Props) {
  const { text, setText, found, isLooking, look } = useFind(table, onSelect);
  const go = (direction: 'next' | 'previous') => look(direction);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      go(event.shiftKey ? 'previous' : 'next');
    } else if (event.key === 'Escape') {
      event.stopPropagation();
      onClose();
    }
  };
  return (
    <Paper className={classes.bar} shadow="md" withBorder radius="md" role="search" aria-label="Find in cells" onKeyDown={onKeyDown}>
      <TextInput
        id="table-find"
        size="xs"
        variant="unstyled"
        className={classes.field}
        aria-label="Find in cells"
        placeholder="Find in cells"
        maxLength={1000}
        data-autofocus
        autoFocus
        leftSection={<Icon name="search" size={15} />}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Text size="xs" c="dimmed" className={classes.count} role="status">
        {isLooking && !found ? <Loader size={12} aria-label="Looking" /> : foundText(found)}
      </Text>
      <Tooltip label="Previous · Shift + Enter">
        <ActionIcon variant="subtle" color="gray" aria-label="Previous match" disabled={!found?.cell} onClick={() => go('previous')}>
          <Icon name="arrowUp" size={16} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Next · Enter">
        <ActionIcon variant="subtle" color="gray" aria-label="Next match" disabled={!found?.cell} onClick={() => go('next')}>
          <Icon name="arrowDown" size={16} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Close · Escape">
        <ActionIcon variant="subtle" color="gray" aria-label="Close find" onClick={onClose}>
          <Icon name="close" size={16} />
        </ActionIcon>
      </Tooltip>
    </Paper>
  );
}
