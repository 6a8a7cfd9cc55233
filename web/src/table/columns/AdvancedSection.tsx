import { Collapse, Group, Input, NumberInput, Stack, Switch, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import type { Column } from '../../api/types';
import { Icon } from '../../ui/Icon';
import FilterBuilder from '../views/FilterBuilder';
import classes from './Columns.module.css';
import type { ColumnDraft, DraftPart } from './draft';

interface Props {
  columns: readonly Column[];
  draft: ColumnDraft;
  onChange: (part: DraftPart) => void;
}

/** When a column runs, how often it tries, and how fast. */
export function AdvancedSection({ columns, draft, onChange }: Props) {
  const [isOpen, setIsOpen] = useState(draft.runCondition.length > 0);
  const { rateLimit } = draft;
  return (
    <div className={classes.section}>
      <UnstyledButton onClick={() => setIsOpen(!isOpen)} aria-expanded={isOpen} fw={620} fz="sm">
        <Group gap={6}>
          <Icon name={isOpen ? 'chevronDown' : 'chevronRight'} size={15} />
          Condition, retries, pace
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen} keepMounted={false}>
        <Stack gap="md" pt="md">
          <div>
            <Input.Label component="div" mb={6}>
              Run only where
            </Input.Label>
            <FilterBuilder
              columns={columns}
              filters={draft.runCondition}
              empty="It runs in every row. Add a condition to leave rows out; they are shown as skipped."
              onChange={(runCondition) => onChange({ runCondition })}
            />
          </div>
          <Group grow align="flex-start">
            <NumberInput
              label="Tries at most"
              description="For errors that may pass."
              min={1}
              max={20}
              value={draft.maxAttempts}
              onChange={(value) => onChange({ maxAttempts: Number(value) || 1 })}
            />
            <NumberInput
              label="Reuse answers for"
              description="0 asks every time."
              min={0}
              suffix=" seconds"
              value={draft.cacheTtlSeconds}
              onChange={(value) => onChange({ cacheTtlSeconds: Number(value) || 0 })}
            />
          </Group>
          <Switch
            label="Hold a pace"
            description="So many requests in so many seconds, over all rows."
            checked={rateLimit !== null}
            onChange={(event) => onChange({ rateLimit: event.currentTarget.checked ? { requests: 10, perSeconds: 1 } : null })}
          />
          {rateLimit && (
            <Group grow>
              <NumberInput
                label="Requests"
                min={1}
                value={rateLimit.requests}
                onChange={(value) => onChange({ rateLimit: { ...rateLimit, requests: Number(value) || 1 } })}
              />
              <NumberInput
                label="In so many seconds"
                min={1}
                value={rateLimit.perSeconds}
                onChange={(value) => onChange({ rateLimit: { ...rateLimit, perSeconds: Number(value) || 1 } })}
              />
            </Group>
          )}
        </Stack>
      </Collapse>
    </div>
  );
}
