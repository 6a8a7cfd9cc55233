import { Menu } from '@mantine/core';
import { useState } from 'react';
import type { Column } from '../../api/types';
import { SUMMARY_LABELS } from '../model/summaryKinds';
import type { Table } from '../state/useTable';
import { SummaryItems } from './SummaryItems';
import classes from './Summaries.module.css';

interface Props {
  table: Table;
  column: Column;
  /** The figure; undefined if the column has no summary. */
  text: string | undefined;
}

/** What the bar below the table says of a column. A click chooses something else. */
export function SummaryCell({ table, column, text }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const kind = table.summaries[column.id];
  const label = kind ? `${SUMMARY_LABELS[kind]} ${text ?? ''} of ${column.header}` : `Summarize ${column.header}`;
  const button = (
    <button type="button" className={classes.cell} title={label} aria-label={label} aria-haspopup="menu" onClick={() => setIsOpen(true)}>
      {kind ? (
        <>
          <span className={classes.kind}>{SUMMARY_LABELS[kind]}</span> <span className={classes.figure}>{text}</span>
        </>
      ) : (
        <span className={classes.offer}>Summarize</span>
      )}
    </button>
  );
  // Hundreds of closed menus would cost more than one that is opened now and then.
  if (!isOpen) return button;
  return (
    <Menu opened onClose={() => setIsOpen(false)} position="top-end" width={180} returnFocus>
      <Menu.Target>{button}</Menu.Target>
      <Menu.Dropdown>
        <SummaryItems table={table} column={column} />
      </Menu.Dropdown>
    </Menu>
  );
}
