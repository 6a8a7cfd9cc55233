// A client by oazapfts. The address is the document's own.

import { csv, expectSame, key, untilDone, url } from './expect';
import {
  createColumn, createProject, createView, defaults, deleteProject, deleteRows, getProject, getRow, getStatus, importFile,
  insertRows, listColumns, listRows, trigger, updateColumn,
} from './oazapfts/rowmill';

expectSame(defaults.baseUrl, url, 'the address of the service');
defaults.headers = { Authorization: `Bearer ${key}` };

/** What an answer carries; some, such as 304, carry nothing. */
type Data<A> = A extends { data: infer D } ? D : undefined;

/** The body of an answer that must have this status. */
function body<A extends { status: number; data?: unknown }, S extends A['status']>(
  answer: A,
  status: S,
): Data<Extract<A, { status: S }>> {
  if (answer.status !== status) throw new Error(`${answer.status} ${JSON.stringify(answer.data)}`);
  return answer.data as Data<Extract<A, { status: S }>>;
}

const columns = [{ templateId: 'manual', header: 'Name' }, { templateId: 'manual', header: 'City' }] as const;
const made = body(await createProject({ title: 'Leads', columns: [...columns] }), 201).project;
const apiConfig = { url: `${url}/healthz`, responsePath: 'status' };
body(await createColumn(made.id, { templateId: 'http-api', header: 'Health', apiConfig }), 201);
const health = body(await listColumns(made.id), 200).columns.find((column) => column.type === 'api');
if (health?.type !== 'api') throw new Error('there is no column of the type api');
expectSame(health.apiConfig.url, apiConfig.url, 'the address');
body(await updateColumn(made.id, health.id, { retry: { maxAttempts: 2 } }), 200);

const rows = [{ Name: 'Ada', City: 'London' }, { Name: 'Alan', City: 'London' }, { Name: 'Barbara', City: 'Boston' }];
const inserted = body(await insertRows(made.id, { rows }), 201);
expectSame(inserted.insertedCount, 3, 'inserted rows');
const file = new Blob([csv], { type: 'text/csv' });
expectSame(body(await importFile(made.id, file, {}, { headers: { 'Content-Type': 'text/csv' } }), 200).importedCount, 2, 'imported rows');

const ids: string[] = [];
for (let cursor: string | null | undefined; cursor !== null; ) {
  const page = body(await listRows(made.id, { pageSize: 2, ...(cursor ? { cursor } : {}) }), 200);
  expectSame(page.pagination.totalRows, 5, 'the total');
  ids.push(...page.rows.map((row) => row.id));
  cursor = page.pagination.nextCursor;
}
expectSame(ids.slice(0, 3), inserted.rows, 'the rows of all pages');

const filters = [
  { columnId: 'City', operator: 'equals' as const, value: 'London' },
  { conjunction: 'not' as const, filters: [{ columnId: 'Name', operator: 'isEmpty' as const }] },
];
const { view } = body(await createView(made.id, { name: 'London', filters }), 201);
expectSame(body(await listRows(made.id, { viewId: view.id }), 200).rows.length, 2, 'rows of the view');

expectSame(body(await trigger(made.id, { columnIds: [health.id] }), 200).triggeredCount, 5, 'triggered rows');
await untilDone(async () => body(await getStatus(made.id), 200).processing);
const { row } = body(await getRow(made.id, ids[0] ?? ''), 200);
expectSame(row.cells[health.id]?.value, 'ok', 'the cell');

expectSame(body(await deleteRows(made.id, { rowIds: ids }), 200).deletedCount, 5, 'deleted rows');
body(await deleteProject(made.id), 200);
expectSame(body(await getProject(made.id), 404).code, 'project_not_found', 'the failure');
