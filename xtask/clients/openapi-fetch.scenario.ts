// A client by openapi-typescript and openapi-fetch.

import createClient from 'openapi-fetch';

import { csv, data, expectSame, key, untilDone, url } from './expect';
import type { components, paths } from './openapi-fetch/schema';

const client = createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${key}` } });

// Fields with a default are optional in what is sent.
const settings: components['schemas']['ProjectSettingsInput'] = { api: { createColumnsFromKeys: false } };
const made = data(
  await client.POST('/v4/projects', {
    body: {
      title: 'Leads',
      settings,
      metadata: { integration: 'eventplatform-event', eventplatform: { eventId: 'evt-1', webhookEnabled: false } },
      columns: [{ templateId: 'manual', header: 'Name' }, { templateId: 'manual', header: 'City' }],
    },
  }),
  'createProject',
).project;
const inProject = { path: { projectId: made.id } };

const apiConfig = { url: `${url}/healthz`, responsePath: 'status' };
data(await client.POST('/v4/projects/{projectId}/columns', {
  params: inProject,
  body: { templateId: 'http-api', header: 'Health', apiConfig },
}), 'createColumn');
data(await client.POST('/v4/projects/{projectId}/columns', {
  params: inProject,
  body: { templateId: 'waterfall-email', header: 'E-mail' },
}), 'createColumn');
const { columns } = data(await client.GET('/v4/projects/{projectId}/columns', { params: inProject }), 'listColumns');
const health = columns.find((column) => column.type === 'api');
if (health?.type !== 'api') throw new Error('there is no column of the type api');
expectSame(health.apiConfig.url, apiConfig.url, 'the address');
const email = columns.find((column) => column.type === 'task');
if (email?.type !== 'task' || email.taskConfig.taskType !== 'waterfallEmail') throw new Error('there is no waterfall');
expectSame(email.taskConfig.waterfallEmail.inputMapping.first_name, '', 'a mapping');
data(await client.PATCH('/v4/projects/{projectId}/columns/{columnId}', {
  params: { path: { ...inProject.path, columnId: health.id } },
  body: { retry: { maxAttempts: 2 }, runCondition: [] },
}), 'updateColumn');

const rows = [{ Name: 'Ada', City: 'London' }, { Name: 'Alan', City: 'London' }, { Name: 'Barbara', City: 'Boston' }];
const inserted = data(
  await client.POST('/v4/projects/{projectId}/rows', { params: inProject, body: { rows } }),
  'insertRows',
);
expectSame(inserted.insertedCount, 3, 'inserted rows');
const imported = data(
  await client.POST('/v4/projects/{projectId}/import', {
    params: { ...inProject, query: { emptyCells: 'keep' } },
    body: csv,
    bodySerializer: (file) => file,
    headers: { 'Content-Type': 'text/csv' },
  }),
  'importFile',
);
expectSame(imported.importedCount, 2, 'imported rows');

const ids: string[] = [];
for (let cursor: string | null | undefined; cursor !== null; ) {
  const query = { pageSize: 2, ...(cursor ? { cursor } : {}) };
  const page = data(await client.GET('/v4/projects/{projectId}/rows', { params: { ...inProject, query } }), 'listRows');
  expectSame(page.pagination.totalRows, 5, 'the total');
  ids.push(...page.rows.map((row) => row.id));
  cursor = page.pagination.nextCursor;
}
expectSame(ids.slice(0, 3), inserted.rows, 'the rows of all pages');

const filters: components['schemas']['Filters'] = [
  { columnId: 'City', operator: 'equals', value: 'London' },
  { conjunction: 'not', filters: [{ columnId: 'Name', operator: 'isEmpty' }] },
];
const { view } = data(
  await client.POST('/v4/projects/{projectId}/views', { params: inProject, body: { name: 'London', filters } }),
  'createView',
);
const inView = data(
  await client.GET('/v4/projects/{projectId}/rows', { params: { ...inProject, query: { viewId: view.id } } }),
  'listRows',
);
expectSame(inView.pagination.totalPages, 1, 'pages of the view');
expectSame(inView.rows.length, 2, 'rows of the view');

const triggered = data(
  await client.POST('/v4/projects/{projectId}/trigger', { params: inProject, body: { columnIds: [health.id] } }),
  'trigger',
);
expectSame(triggered.triggeredCount, 5, 'triggered rows');
await untilDone(async () => {
  const status = data(await client.GET('/v4/projects/{projectId}/status', { params: inProject }), 'getStatus');
  return status.processing;
});
const rowId = ids[0] ?? '';
const { row } = data(
  await client.GET('/v4/projects/{projectId}/rows/{rowId}', { params: { path: { ...inProject.path, rowId } } }),
  'getRow',
);
expectSame(row.cells[health.id]?.value, 'ok', 'the cell');

const exported = await client.GET('/v4/projects/{projectId}/export', { params: inProject, parseAs: 'text' });
expectSame(data(exported, 'exportFile').includes('Grace,New York'), true, 'the export');
const events = await client.GET('/v4/projects/{projectId}/events', {
  params: { ...inProject, query: { seconds: 0 } },
  parseAs: 'text',
});
expectSame(typeof data(events, 'watchEvents'), 'string', 'the events');

const gone = data(
  await client.DELETE('/v4/projects/{projectId}/rows', { params: inProject, body: { rowIds: ids } }),
  'deleteRows',
);
expectSame(gone.deletedCount, 5, 'deleted rows');
data(await client.DELETE('/v4/projects/{projectId}', { params: inProject }), 'deleteProject');
const missing = await client.GET('/v4/projects/{projectId}', { params: inProject });
expectSame(missing.error?.code, 'project_not_found', 'the failure');
