// A block from a spreadsheet: over what is there, and past the end.
import { gridOf, openTable, paste, signIn } from '../harness/browser.mjs';
import { until } from '../harness/until.mjs';

export default async function pasted({ server, page }) {
  const { project } = await server.api('POST', '/projects', {
    title: 'Pasted',
    columns: [
      { templateId: 'manual', header: 'Name' },
      { templateId: 'manual', header: 'City' },
    ],
  });
  const [, name, city] = project.columns.map((column) => column.id);
  await server.api('POST', `/projects/${project.id}/rows`, [{ Name: 'one' }, { Name: 'two' }]);
  const holds = (wanted) =>
    until(`the rows are ${JSON.stringify(wanted)}`, async () => {
      const { rows } = await server.api('GET', `/projects/${project.id}/rows`);
      return JSON.stringify(rows.map((row) => [row.cells[name], row.cells[city]])) === JSON.stringify(wanted);
    });
  const grid = gridOf(page);
  await signIn(page, server);
  await openTable(page, server, project.id);
  await grid.reads(1, 1, 'two');

  await grid.select(1, 1);
  await paste(page, 'Ada\tLondon\r\n"Grace\nHopper"\tNew York\r\nAlan\tManchester\r\n');
  const after = [
    ['one', null],
    ['Ada', 'London'],
    ['Grace\nHopper', 'New York'],
    ['Alan', 'Manchester'],
  ];
  await holds(after);
  await grid.reads(3, 2, 'Manchester');

  await page.keyboard.press('Control+z');
  await holds([
    ['one', null],
    ['two', null],
  ]);
  await page.keyboard.press('Control+y');
  await holds(after);

  await grid.select(0, 2);
  await page.keyboard.press('Shift+ArrowDown');
  await paste(page, 'Paris');
  await holds([['one', 'Paris'], ['Ada', 'Paris'], ...after.slice(2)]);
}
