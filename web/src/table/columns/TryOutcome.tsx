import { Alert, Badge, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Json, TryResult } from '../../api/types';
import json from '../cell/Json.module.css';
import { PlainValue } from '../cell/CellValue';
import { JsonTree } from '../cell/JsonTree';
import { MetaList } from '../cell/MetaList';
import { errorAdvice, EMPTY_ADVICE, isEmptyResult, isErrorStatus, emptyReason } from '../model/cellStatus';
import { isJson, toPretty } from '../model/values';
import { spent } from './attempt';
import classes from './Columns.module.css';

type Result = NonNullable<TryResult['result']>;

interface Props {
  answer: TryResult & { milliseconds: number };
  /** The response path: the part of the response to keep. */
  path: string;
  onPath?: (path: string) => void;
}

/** The result of a try: status, value and request. */
export function TryOutcome({ answer, path, onPath }: Props) {
  const { result, resolved, appliedFixes, milliseconds } = answer;
  return (
    <Stack gap="sm">
      {result && <Ending result={result} milliseconds={milliseconds} />}
      {result && !result.error && <Answered result={result} path={path} onPath={onPath} />}
      {appliedFixes.map((fix) => (
        <Text key={fix} size="xs" c="dimmed">
          {fix}
        </Text>
      ))}
      {result?.meta && <Folded title="Details" content={<MetaList meta={result.meta} />} />}
      {result ? <Folded title="Request" content={<Sent resolved={resolved} />} /> : <Sent title="Request preview" resolved={resolved} />}
    </Stack>
  );
}

const ENDINGS = { completed: ['mill', 'Done'], error: ['red', 'Failed'], skipped: ['yellow', 'Skipped'] } as const;
const EMPTY = ['gray', 'Nothing found'] as const;

function isEmpty({ status, value }: Result): boolean {
  return isEmptyResult({ status, value: value ?? null });
}

function Ending({ result, milliseconds }: { result: Result; milliseconds: number }) {
  const [color, word] = isEmpty(result) ? EMPTY : ENDINGS[result.status as keyof typeof ENDINGS];
  return (
    <>
      <Group gap={8}>
        <Badge color={color} variant="light">
          {word}
        </Badge>
        <Text size="sm" c="dimmed">
          {spent(result.meta ?? {}, milliseconds)}
        </Text>
      </Group>
      {result.error && (
        <Alert color={color} title={result.error.message}>
          {errorAdvice(result.error.code)}
        </Alert>
      )}
    </>
  );
}

function Answered({ result, path, onPath }: { result: Result; path: string; onPath?: (path: string) => void }) {
  const { value = null, meta } = result;
  if (value === null && isErrorStatus(meta)) {
    return (
      <Alert color="yellow" title={emptyReason(meta)}>
        {EMPTY_ADVICE}
      </Alert>
    );
  }
  if (value === null) return <Text size="sm">{emptyReason(meta)}</Text>;
  if (isJson(value) && onPath) return <JsonTree value={value} chosen={path} onChoose={onPath} />;
  return <PlainValue value={value} />;
}

function Folded({ title, content }: { title: string; content: ReactNode }) {
  return (
    <details>
      <summary className={classes.fold}>{title}</summary>
      {content}
    </details>
  );
}

const NAMES: Record<string, string> = {
  system: 'System prompt',
  prompt: 'Prompt',
  provider: 'Provider',
  model: 'Model',
  method: 'Method',
  url: 'URL',
  headers: 'Headers',
  query: 'Query parameters',
  body: 'Body',
  firstName: 'First name',
  lastName: 'Last name',
  fullName: 'Full name',
  domain: 'Domain',
};

function Sent({ title, resolved }: { title?: string; resolved: Record<string, Json> }) {
  const parts = Object.entries(resolved).filter(([, value]) => value !== null && value !== '' && !isEmptyObject(value));
  return (
    <Stack gap="xs">
      {title && (
        <Text size="sm" fw={550}>
          {title}
        </Text>
      )}
      {parts.length === 0 && (
        <Text size="sm" c="dimmed">
          Nothing to send.
        </Text>
      )}
      {parts.map(([name, value]) => (
        <div key={name}>
          <Text size="xs" c="dimmed" mb={2}>
            {NAMES[name] ?? name}
          </Text>
          <pre className={json.code}>{toPretty(value)}</pre>
        </div>
      ))}
    </Stack>
  );
}

function isEmptyObject(value: Json): boolean {
  return isJson(value) && Object.keys(value).length === 0;
}
