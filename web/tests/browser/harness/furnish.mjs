// The table that pictures of pages are taken of.
import { until } from './until.mjs';

/** A project with cells in many states. */
export async function furnish(server, provider) {
  const api = { method: 'GET', url: `${provider.url}/find`, query: { q: '@{Company}' } };
  const { project } = await server.api('POST', '/projects', {
    title: 'Leads for spring',
    columns: [
      { templateId: 'manual', header: 'Company' },
      { templateId: 'manual', header: 'City' },
      { templateId: 'http-api', header: 'Found', apiConfig: api, retry: { maxAttempts: 1 } },
      { templateId: 'ai-text', header: 'Opening line', aiConfig: { prompt: 'Write to @{Company} in @{City} about @{Found}.' } },
    ],
  });
  const names = ['Acme', 'fail Ltd', 'Northwind', 'Initech', 'Hooli', 'Globex', 'Umbrella'];
  const cities = ['London', 'Turin', 'Oslo'];
  const rows = Array.from({ length: 60 }, (_, index) => ({ Company: names[index % 7], City: cities[index % 3] }));
  await server.api('POST', `/projects/${project.id}/rows`, rows);
  await server.api('POST', `/projects/${project.id}/trigger`, { limit: 12 });
  await until('the cells have run', async () => !(await server.api('GET', `/projects/${project.id}/status`)).processing);
  const { rows: listed } = await server.api('GET', `/projects/${project.id}/rows?pageSize=5`);
  const found = project.columns[3].id;
  await server.api('PATCH', `/projects/${project.id}/cells`, {
    cells: [
      { rowId: listed[2].id, columnId: found, value: 'Edited manually' },
      { rowId: listed[3].id, columnId: project.columns[2].id, value: 'Elsewhere' },
    ],
  });
  await server.api('POST', `/projects/${project.id}/views`, { name: 'Failed', filters: [{ columnId: found, operator: 'statusIs', value: 'error' }] });
  return project;
}
