import { Button, Group, Text, Textarea } from '@mantine/core';
import { type KeyboardEvent, useRef, useState } from 'react';
import type { Format, Json } from '../../api/types';
import { parseFor } from '../formats/parseTyped';
import { isJson, toPretty } from '../model/values';

interface Props {
  value: Json;
  /** The type of the column's values. */
  format?: Format;
  onSave: (value: Json) => void;
  onClose: () => void;
}

/** Edits a value in the panel. Leaving the field saves it, as in the grid. */
export function ValueEditor({ value, format, onSave, onClose }: Props) {
  const [text, setText] = useState(() => toPretty(value));
  const [problem, setProblem] = useState<string>();
  const isOver = useRef(false);
  const close = () => {
    isOver.current = true;
    onClose();
  };
  const save = () => {
    if (isOver.current) return;
    const next = parseFor(text, value, format);
    if (isJson(value) && text.trim() !== '' && !isJson(next)) return setProblem('This is not valid JSON.');
    if (text !== toPretty(value)) onSave(next);
    close();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      save();
    }
    if (event.key !== 'Escape') return;
    // Escape ends the editing only; the panel stays.
    event.preventDefault();
    close();
  };
  return (
    <div onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && save()}>
      <Textarea
        aria-label="Edit value"
        autosize
        minRows={3}
        maxRows={18}
        value={text}
        error={problem}
        autoFocus
        spellCheck={!isJson(value)}
        styles={isJson(value) ? { input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 12 } } : undefined}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setProblem(undefined);
        }}
        onKeyDown={onKeyDown}
      />
      <Group justify="space-between" mt={6}>
        <Text size="xs" c="dimmed">
          Ctrl + Enter saves · Escape cancels
        </Text>
        <Group gap={6}>
          {/* Some browsers do not focus a pressed button, and leaving the field saves. */}
          <Button size="compact-sm" variant="default" onMouseDown={(event) => event.preventDefault()} onClick={close}>
            Cancel
          </Button>
          <Button size="compact-sm" onMouseDown={(event) => event.preventDefault()} onClick={save}>
            Save
          </Button>
        </Group>
      </Group>
    </div>
  );
}
