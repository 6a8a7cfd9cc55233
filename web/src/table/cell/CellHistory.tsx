import { Text } from '@mantine/core';
import type { Cell } from '../../api/types';
import { timeAgo } from '../../ui/format';
import { Icon, type IconName } from '../../ui/Icon';
import { type HistoryEntry, historyOf, otherFacts } from './history';
import classes from './History.module.css';
import { MetaList } from './MetaList';
import { useProviderName } from './useProviderName';

const MARKS: Record<HistoryEntry['kind'], IconName> = { step: 'chevronRight', done: 'check', failed: 'close', changed: 'pencil', waiting: 'redo' };

/** How a cell came to be what it is, as a timeline. */
export function CellHistory({ cell }: { cell: Cell }) {
  const nameOf = useProviderName();
  const entries = historyOf(cell, nameOf);
  const facts = otherFacts(cell.meta);
  return (
    <div>
      <Text size="sm" fw={620} mb={8}>
        History
      </Text>
      {entries.length === 0 && (
        <Text size="sm" c="dimmed">
          No runs yet.
        </Text>
      )}
      <ol className={classes.timeline}>
        {entries.map((entry, place) => (
          <li key={place} data-kind={entry.kind}>
            <span className={classes.mark} aria-hidden>
              <Icon name={MARKS[entry.kind]} size={12} />
            </span>
            <div>
              <Text size="sm" fw={550} component="div">
                {entry.title}
                {entry.at && (
                  <Text span size="xs" c="dimmed" ml={8} title={new Date(entry.at).toLocaleString()}>
                    {timeAgo(entry.at)}
                  </Text>
                )}
              </Text>
              {entry.details && (
                <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                  {entry.details}
                </Text>
              )}
            </div>
          </li>
        ))}
      </ol>
      {Object.keys(facts).length > 0 && <MetaList meta={facts} />}
    </div>
  );
}
