// A client by @hey-api/openapi-ts.

import { csv, data, expectSame, key, untilDone, url } from './expect';
import {
  createColumn, createProject, createView, deleteProject, deleteRows, exportFile, getProject, getRow, getStatus,
  importFile, insertRows, listColumns, listRows, trigger, updateColumn,
} from './hey-api';
import { client } from './hey-api/client.gen';

// The address is the document's own.
expectSame(client.getConfig().baseUrl, url, 'the address of the service');
client.setConfig({ auth: key });

const columns = [{ templateId: 'manual', header: 'Name' }, { templateId: 'manual', header: 'City' }] as const;
const made = data(await createProject({ body: { title: 'Leads', columns: [...columns] } }), 'createProject').project;
const path = { projectId: made.id };
const apiConfig = { url: `${url}/healthz`, responsePath: 'status' };
data(await createColumn({ path, body: { templateId: 'http-api', header: 'Health', apiConfig } }), 'createColumn');
const all = data(await listColumns({ path }), 'listColumns').columns;
const health = all.find((column) => column.type === 'api');
if (health?.type !== 'api') throw new Error('there is no column of the type api');
expectSame(health.apiConfig.url, apiConfig.url, 'the address');
const patch = { retry: { maxAttempts: 2 } };
data(await updateColumn({ path: { ...path, columnId: health.id }, body: patch }), 'updateColumn');

const rows = [{ Name: 'Ada', City: 'London' }, { Name: 'Alan', City: 'London' }, { Name: 'Barbara', City: 'Boston' }];
const inserted = data(await insertRows({ path, body: rows }), 'insertRows');
expectSame(inserted.insertedCount, 3, 'inserted rows');
const file = new Blob([csv], { type: 'text/csv' });
const imported = data(await importFile({ path, body: file }), 'importFile');
expectSame([imported.importedCount, imported.rejected], [2, []], 'imported rows');

const ids: string[] = [];
for (let cursor: string | null | undefined; cursor !== null; ) {
  const page = data(await listRows({ path, query: { pageSize: 2, ...(cursor ? { cursor } : {}) } }), 'listRows');
  expectSame(page.pagination.totalRows, 5, 'the total');
  ids.push(...page.rows.map((row) => row.id));
  cursor = page.pagination.nextCursor;
}
expectSame(ids.slice(0, 3), inserted.rows, 'the rows of all pages');

const view = data(
  await createView({
    path,
    body: {
      name: 'London',
      filters: [
        { columnId: 'City', operator: 'equals', value: 'London' },
        { conjunction: 'not', filters: [{ columnId: 'Name', operator: 'isEmpty' }] },
      ],
    },
  }),
  'createView',
).view;
expectSame(data(await listRows({ path, query: { viewId: view.id } }), 'listRows').rows.length, 2, 'rows of the view');

expectSame(data(await trigger({ path, body: { columnIds: [health.id] } }), 'trigger').triggeredCount, 5, 'triggered');
await untilDone(async () => data(await getStatus({ path }), 'getStatus').processing);
const row = data(await getRow({ path: { ...path, rowId: ids[0] ?? '' } }), 'getRow').row;
expectSame(row.cells[health.id]?.value, 'ok', 'the cell');
const exported = data(await exportFile({ path, parseAs: 'text' }), 'exportFile');
expectSame(String(exported).includes('Grace,New York'), true, 'the export');

expectSame(data(await deleteRows({ path, body: { rowIds: ids } }), 'deleteRows').deletedCount, 5, 'deleted rows');
data(await deleteProject({ path }), 'deleteProject');
expectSame((await getProject({ path })).error?.code, 'project_not_found', 'the failure');
