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

/** Run condition, attempts, cache and rate limit. */
export function AdvancedSection({ columns, draft, onChange }: Props) {
  const [isOpen, setIsOpen] = useState(draft.runCondition.length > 0);
  const { rateLimit } = draft;
  return (
    <div className={classes.section}>
      <UnstyledButton onClick={() => setIsOpen(!isOpen)} aria-expanded={isOpen} fw={620} fz="sm">
        <Group gap={6}>
          <Icon name={isOpen ? 'chevronDown' : 'chevronRight'} size={15} />
          Condition, retries, rate limit
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen} keepMounted={false}>
        <Stack gap="md" pt="md">
          <div>
            <Input.Label component="div" mb={6}>
              Run condition
            </Input.Label>
            <FilterBuilder
              columns={columns}
              filters={draft.runCondition}
              empty="Runs in every row. Add a condition to skip rows."
              onChange={(runCondition) => onChange({ runCondition })}
            />
          </div>
          <Group grow align="flex-start">
            <NumberInput
              label="Maximum attempts"
              description="For temporary errors."
              min={1}
              max={20}
              value={draft.maxAttempts}
              onChange={(value) => onChange({ maxAttempts: Number(value) || 1 })}
            />
            <NumberInput
              label="Cache answers for"
              description="0 turns the cache off."
              min={0}
              suffix=" seconds"
              value={draft.cacheTtlSeconds}
              onChange={(value) => onChange({ cacheTtlSeconds: Number(value) || 0 })}
            />
          </Group>
          <Switch
            label="Limit the rate"
            description="Limits requests over all rows."
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
                label="Period in seconds"
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
