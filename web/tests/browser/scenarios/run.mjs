// A column with a slow provider runs, shows its progress, and can be stopped.
import assert from 'node:assert/strict';
import { seriousFindings } from '../harness/axe.mjs';
import { gridOf, openTable, shot, signIn } from '../harness/browser.mjs';
import { startProvider } from '../harness/provider.mjs';
import { until } from '../harness/until.mjs';

export default async function run({ server, page }) {
  const provider = await startProvider(300);
  try {
    const { project } = await server.api('POST', '/projects', {
      title: 'Slow',
      columns: [
        { templateId: 'manual', header: 'Name' },
        {
          templateId: 'http-api',
          header: 'Found',
          apiConfig: { method: 'GET', url: `${provider.url}/find`, query: { q: '@{Name}' }, responsePath: 'company.name' },
          rateLimit: { requests: 10, perSeconds: 1 },
        },
      ],
    });
    const found = project.columns[2].id;
    const names = Array.from({ length: 400 }, (_, index) => ({ Name: index === 2 ? 'fail' : `n${index}` }));
    await server.api('POST', `/projects/${project.id}/rows`, names);
    const grid = gridOf(page);
    await signIn(page, server);
    await openTable(page, server, project.id);

    // A large run asks for confirmation; ten rows do not.
    const ask = page.getByRole('dialog', { name: 'Run 400 cells in “Found”?' });
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await ask.waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    await shot(page, 'run-dialog');
    await ask.getByRole('button', { name: 'Cancel' }).click();
    assert.equal(provider.asked.length, 0, 'nothing runs before it was said');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await ask.getByRole('button', { name: 'Run first 10 rows' }).click();
    await grid.reads(9, 2, 'n9 Ltd');
    await page.getByText('Run finished').waitFor();
    assert.equal(provider.asked.length, 10);

    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('button', { name: 'Run 391', exact: true }).click();
    await grid.reads(10, 2, 'n10 Ltd');
    await page.getByRole('region', { name: 'Run progress' }).getByText(/a second/).first().waitFor();
    await until('the failed cell says so', async () => (await grid.cell(2, 2).textContent())?.startsWith('Failed'));
    await grid.hover(2, 2);
    await page.getByRole('tooltip').getByText('no credit left').waitFor();
    await shot(page, 'table-running');
    await page.evaluate(() => document.querySelector('.dvn-scroller').scrollBy(0, 40));
    await page.getByRole('tooltip').waitFor({ state: 'detached' });
    await page.evaluate(() => document.querySelector('.dvn-scroller').scrollTo(0, 0));

    await page.getByRole('banner').getByRole('button', { name: 'Stop' }).click();
    const strip = page.getByRole('region', { name: 'Run progress' });
    await strip.getByText('Stopped', { exact: true }).waitFor();
    const words = await strip.getByText(/^\d+ done, 1 failed, \d+ stopped$/).textContent();
    const counted = words.match(/\d+/g).map(Number);
    assert.equal(counted.reduce((sum, number) => sum + number, 0), 391, `${words}: every cell of the run is told once`);
    await shot(page, 'table-stopped');
    // The strip leads to the run, and that to the list of runs.
    await strip.getByRole('button', { name: 'Details' }).click();
    await page.getByRole('complementary', { name: 'Run', exact: true }).getByText(/^Stopped after/).waitFor();
    await page.getByRole('complementary', { name: 'Run', exact: true }).getByRole('button', { name: 'Back' }).click();
    const list = page.getByRole('complementary', { name: 'Runs' });
    await list.getByRole('row').nth(1).getByText('391', { exact: true }).waitFor();
    await list.getByRole('row').nth(1).getByText(/\(browser\) · stopped/).waitFor();
    await list.getByRole('row').nth(2).getByText('10', { exact: true }).waitFor();
    assert.deepEqual(await seriousFindings(page), []);
    await shot(page, 'runs');
    await list.getByRole('button', { name: 'Close the panel' }).click();
    // With failures the summary stays until it is closed.
    await strip.getByRole('button', { name: 'Close the summary' }).click();
    await strip.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
    const asked = provider.asked.length;
    const { columns, processing } = await server.api('GET', `/projects/${project.id}/status`);
    assert.equal(processing, false);
    assert.ok(asked < 400, `${asked} calls were made`);
    await until('the grid shows cells as they were', async () => (await grid.cell(18, 2).textContent()) !== 'Queued');
    assert.equal(provider.asked.length, asked, 'a call was begun after the stop');
    assert.equal(Object.values(columns)[0].queued, 0);

    // Runs only the rows shown.
    await page.getByLabel('Search all cells').fill('n399');
    await page.getByText('1 row match').waitFor();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await grid.reads(0, 2, 'n399 Ltd');
    assert.equal(provider.asked.length, asked + 1, 'only the row shown was run');
    await page.getByLabel('Search all cells').fill('');
    await grid.reads(0, 2, 'n0 Ltd');

    // Undo restores a cleared result as a manual value, which can be run again.
    await grid.select(1, 2);
    await page.keyboard.press('Delete');
    await grid.reads(1, 2, '');
    await page.keyboard.press('Control+z');
    await grid.reads(1, 2, 'n1 Ltd');
    await page.getByText('1 value was restored as a manual edit.').waitFor();
    await page.getByRole('button', { name: 'Run again' }).click();
    await until('it is a result again', async () => {
      const { rows } = await server.api('GET', `/projects/${project.id}/rows?pageSize=2&withState=true`);
      const cell = rows[1].cells[found];
      return cell.status === 'completed' && !cell.manual;
    });

    // Manual values are not replaced without a question.
    await server.api('PATCH', `/projects/${project.id}/cells`, {
      cells: (await server.api('GET', `/projects/${project.id}/rows?pageSize=5`)).rows.slice(3).map(({ id }) => ({ rowId: id, columnId: found, value: 'by hand' })),
    });
    await grid.reads(4, 2, 'by hand');
    await page.getByLabel('Search all cells').fill('by hand');
    await page.getByText('2 rows match').waitFor();
    await grid.rightClick(-1, 2);
    await page.getByRole('menuitem', { name: 'Rerun all cells' }).click();
    await page.getByRole('dialog').getByText('2 values edited manually will be replaced').waitFor();
    await shot(page, 'run-dialog-by-hand');
    // The alternative in the dialog keeps those two values.
    const others = { force: true, dryRun: true, columnIds: [found], filters: [{ conjunction: 'not', filters: [{ columnId: found, operator: 'isManual' }] }] };
    assert.equal((await server.api('POST', `/projects/${project.id}/trigger`, others)).triggeredCount, 398);
    await page.getByRole('dialog').getByRole('button', { name: 'Keep manual values' }).waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.getByLabel('Search all cells').fill('');
    await grid.reads(2, 1, 'fail');

    await grid.select(0, 2);
    await page.keyboard.press('Space');
    await page.getByRole('complementary').getByText('History').waitFor();
    await page.getByText('1 attempt').waitFor();
    await shot(page, 'panel-cell');

    // A cell that waits for a retry says so, and why.
    const { rows } = await server.api('GET', `/projects/${project.id}/rows?pageSize=1`);
    await server.api('PATCH', `/projects/${project.id}/rows/${rows[0].id}`, { Name: 'later' });
    await page.getByRole('button', { name: 'Run this cell again' }).click();
    await page.getByRole('complementary').getByText(/^Waiting to retry \(in .* s, after: .*429/).waitFor();
    await until('the grid says so, too', async () => (await grid.cell(0, 2).textContent())?.startsWith('Waiting to retry'));
    await shot(page, 'cell-waits');
  } finally {
    provider.stop();
  }
}
