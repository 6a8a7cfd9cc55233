import { MultiSelect } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { projectQuery, projectsQuery } from '../api/queries';

interface Props {
  projectIds: string[];
  columnIds: string[];
  error: string | undefined;
  onChange: (scope: { projectIds: string[]; columnIds: string[] }) => void;
}

/** Which tables, and which of their columns, a webhook tells of. */
export function WebhookScope({ projectIds, columnIds, error, onChange }: Props) {
  const projects = useQuery(projectsQuery);
  const chosen = useQueries({ queries: projectIds.map(projectQuery) }).flatMap(({ data }) => data ?? []);
  const columns = chosen.map(({ title, columns }) => ({
    group: title,
    items: columns.map(({ id, header }) => ({ value: id, label: header })),
  }));
  /** Columns of a table that is no longer chosen go with it. */
  const chooseTables = (ids: string[]) => {
    const dropped = chosen.filter(({ id }) => !ids.includes(id)).flatMap(({ columns }) => columns.map(({ id }) => id));
    onChange({ projectIds: ids, columnIds: ids.length === 0 ? [] : columnIds.filter((id) => !dropped.includes(id)) });
  };
  return (
    <>
      <MultiSelect
        label="Tables"
        description="Empty: all, including new ones."
        placeholder={projectIds.length === 0 ? 'All tables' : undefined}
        data={(projects.data ?? []).map(({ id, title }) => ({ value: id, label: title }))}
        value={projectIds}
        searchable
        onChange={chooseTables}
      />
      {projectIds.length > 0 && (
        <MultiSelect
          label="Columns"
          description="Leave empty for all columns. Limits cell events and row.updated."
          data={columns}
          value={columnIds}
          error={error}
          searchable
          onChange={(ids) => onChange({ projectIds, columnIds: ids })}
        />
      )}
    </>
  );
}
