import { Collapse, Group, Input, NumberInput, Select, Stack, TagsInput, TextInput, UnstyledButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { parseJson, stringifyJson } from '../../api/exactNumber';
import { secretsQuery } from '../../api/queries';
import type { HttpMethod, Json } from '../../api/types';
import { useFieldErrors } from '../../ui/fieldErrors';
import { Icon } from '../../ui/Icon';
import { TemplateField } from '../template/TemplateField';
import { KeyValueEditor } from './KeyValueEditor';
import type { SectionProps } from './sectionProps';

const METHODS: HttpMethod[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

type HttpConfig = NonNullable<SectionProps['draft']['apiConfig']>;

/** Settings of an HTTP column. */
export function HttpSection({ draft, columns, onChange }: SectionProps) {
  const secrets = useQuery(secretsQuery).data?.map(({ name }) => name) ?? [];
  const errors = useFieldErrors();
  const config = draft.apiConfig;
  const [body, setBody] = useState(bodyText(config?.body as Json | undefined));
  if (!config) return null;
  const change = (part: Partial<HttpConfig>) => onChange({ apiConfig: { ...config, ...part } });

  return (
    <Stack gap="md">
      <div>
        <Input.Label component="div" mb={4}>
          Request
        </Input.Label>
        <Group gap={6} wrap="nowrap" align="flex-start">
          <Select
            size="xs"
            w={96}
            aria-label="Method"
            data={METHODS}
            value={config.method}
            allowDeselect={false}
            onChange={(method) => method && change({ method: method as HttpMethod })}
          />
          <TemplateField
            label="URL"
            isLabelHidden
            isSingleLine
            placeholder="https://api.example.com/search"
            value={config.url}
            error={errors['apiConfig.url']}
            columns={columns}
            secrets={secrets}
            onChange={(url) => change({ url })}
          />
        </Group>
      </div>
      <KeyValueEditor label="Query parameters" addLabel="Add a query parameter" value={config.query} columns={columns} secrets={secrets} onChange={(query) => change({ query })} />
      <KeyValueEditor label="Headers" addLabel="Add a header" value={config.headers} columns={columns} secrets={secrets} onChange={(headers) => change({ headers })} />
      {config.method !== 'GET' && (
        <TemplateField
          label="Body"
          description="JSON or text. Type @ to insert a column’s value or a secret."
          placeholder={'{"name": "@Name"}'}
          rows={4}
          value={body}
          error={errors['apiConfig.body']}
          columns={columns}
          secrets={secrets}
          onChange={(text) => {
            setBody(text);
            change({ body: readBody(text) });
          }}
        />
      )}
      <TextInput
        label="Response path"
        description="A path such as company.name. Try the request below, then click the part to keep."
        placeholder="Whole response"
        classNames={{ input: 'mono' }}
        value={config.responsePath ?? ''}
        error={errors['apiConfig.responsePath']}
        onChange={(event) => change({ responsePath: event.currentTarget.value || null })}
      />
      <ResponseOptions config={config} onChange={change} />
    </Stack>
  );
}

/** Success and “nothing found” statuses, and the timeout. */
function ResponseOptions({ config, onChange }: { config: HttpConfig; onChange: (part: Partial<HttpConfig>) => void }) {
  const [isOpen, setIsOpen] = useState(false);
  const errors = useFieldErrors();
  return (
    <>
      <UnstyledButton onClick={() => setIsOpen(!isOpen)} aria-expanded={isOpen} fz="sm" c="dimmed">
        <Group gap={6}>
          <Icon name={isOpen ? 'chevronDown' : 'chevronRight'} size={15} />
          Statuses and timeout
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen} keepMounted={false}>
        <Stack gap="md">
          <TagsInput
            label="Success statuses"
            value={config.successStatuses.map(String)}
            error={errors['apiConfig.successStatuses']}
            onChange={(statuses) => onChange({ successStatuses: statuses.map(readStatus) })}
          />
          <TagsInput
            label="“Nothing found” statuses"
            value={config.emptyOn.map(String)}
            error={errors['apiConfig.emptyOn']}
            onChange={(statuses) => onChange({ emptyOn: statuses.map(readStatus) })}
          />
          <NumberInput
            label="Timeout"
            suffix=" seconds"
            min={1}
            max={300}
            value={config.timeoutSeconds}
            error={errors['apiConfig.timeoutSeconds']}
            onChange={(value) => onChange({ timeoutSeconds: Number(value) || 30 })}
          />
        </Stack>
      </Collapse>
    </>
  );
}

function bodyText(body: Json | undefined): string {
  if (body === undefined || body === null) return '';
  return typeof body === 'string' ? body : stringifyJson(body, 2);
}

/** Valid JSON is sent as JSON, anything else as text. */
function readBody(text: string): Json {
  if (text.trim() === '') return null;
  try {
    return parseJson(text) as Json;
  } catch {
    return text;
  }
}

function readStatus(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text;
}
