import { stringifyJson } from '../api/exactNumber';
import type { Project } from '../api/types';

export interface Example {
  label: string;
  command: string;
}

/** Example commands. They work once the key is filled in. */
export function examples(project: Project, base: string, teamSlug: string): Example[] {
  const url = `${base}/v4/projects/${project.id}`;
  const auth = '-H "Authorization: Bearer $KEY"';
  const json = '-H "Content-Type: application/json"';
  const field = project.columns.find((column) => column.type === 'manual' && !column.trigger)?.header ?? 'Input';
  // In a shell, an apostrophe ends the quoted text.
  const row = stringifyJson({ [field]: 'Ada' }).replaceAll("'", "'\\''");
  return [
    { label: 'Add a row', command: `curl ${auth} ${json} \\\n  ${url}/rows -d '${row}'` },
    { label: 'List rows', command: `curl ${auth} \\\n  "${url}/rows?pageSize=50"` },
    { label: 'Run unfinished cells', command: `curl ${auth} ${json} \\\n  ${url}/trigger -d '{}'` },
    { label: 'Read the status', command: `curl ${auth} \\\n  ${url}/status` },
    { label: 'Stream events', command: `curl -N ${auth} \\\n  ${url}/events` },
    { label: 'List rows with API v3', command: `curl ${auth} \\\n  ${base}/v3/${teamSlug}/${project.id}/rows` },
  ];
}
