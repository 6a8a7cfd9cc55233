// The steps to every page, panel and dialog that pictures are taken of.
import { gridOf, signIn } from './browser.mjs';
import { until } from './until.mjs';

/** They run in one window, in order, starting signed out. */
export function visits(server, project) {
  const table = async (page) => {
    await page.goto(`${server.url}/projects/${project.id}`);
    await page.getByText('Live', { exact: true }).waitFor();
    await gridOf(page).reads(0, 1, 'Acme');
  };
  return {
    signin: heading(server, '/?signin=expired', 'Sign in'),
    projects: async (page) => {
      await signIn(page, server);
      await page.getByRole('link', { name: project.title }).waitFor();
    },
    table,
    ...columnForms(table),
    ...panels(table),
    ...importing(table),
    ...settings(server, project),
    trash: (page) => trash(page, server),
    'not-found': heading(server, '/projects/none/such/page', 'Page not found'),
    'no-project': heading(server, '/projects/none', 'Page not found'),
  };
}

function heading(server, path, name) {
  return async (page) => {
    await page.goto(server.url + path);
    await page.getByRole('heading', { name }).first().waitFor();
    await page.waitForLoadState('networkidle').catch(() => {});
  };
}

/** Opens something with the command palette. */
async function command(page, label) {
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Find a command' }).fill(label);
  await page.getByRole('option', { name: label }).first().click();
}

function columnForms(table) {
  const gallery = async (page) => {
    await table(page);
    await page.getByRole('button', { name: 'Add column' }).click();
    await page.getByRole('complementary').getByText('AI text').waitFor();
  };
  const choose = async (page, name) => {
    await gallery(page);
    await page.getByRole('complementary').getByRole('button', { name }).click();
  };
  const template = (name) => async (page) => {
    await choose(page, name);
    await page.getByRole('textbox', { name: 'Header' }).waitFor();
  };
  return {
    gallery,
    'column-ai': template(/^AI text/),
    'column-json': template(/^AI data/),
    'column-research': template(/^AI research/),
    'column-waterfall': template(/^Email waterfall/),
    'column-scraper': template(/^Web scraper/),
    'column-http': template(/^HTTP/),
    'column-reference': template(/^Reference/),
    recipe: async (page) => {
      await choose(page, /^Score leads/);
      await page.getByRole('button', { name: 'Add 3 columns' }).waitFor();
      await page.getByText('This recipe needs a language model.').waitFor();
    },
  };
}

function panels(table) {
  const runs = async (page) => {
    await table(page);
    await command(page, 'Show past runs');
    await page.getByRole('complementary', { name: 'Runs' }).getByRole('row').nth(1).waitFor();
  };
  return {
    cell: async (page) => {
      await table(page);
      const column = page.getByRole('combobox', { name: 'Column' });
      await until('the panel of a cell is open', async () => {
        await gridOf(page).select(1, 1);
        await page.keyboard.press('Space');
        return column.isVisible();
      });
      await column.click();
      await page.getByRole('option', { name: 'Found' }).click();
      await page.getByText('History').waitFor();
    },
    filter: async (page) => {
      await table(page);
      await page.getByRole('button', { name: 'Filter' }).click();
      await page.getByRole('button', { name: 'Add a condition' }).click();
      await page.getByRole('button', { name: 'Add a group' }).first().click();
    },
    groups: async (page) => {
      await table(page);
      await command(page, 'Group rows');
      await page.getByRole('combobox', { name: 'Group by' }).click();
      await page.getByRole('option', { name: 'City' }).click();
      await page.getByText('4 groups in 60 rows').waitFor();
    },
    runs,
    run: async (page) => {
      await runs(page);
      await page.getByRole('complementary', { name: 'Runs' }).getByRole('row').last().getByRole('button').click();
      await page.getByRole('complementary', { name: 'Run', exact: true }).getByText('Why cells failed').waitFor();
    },
    'run-choice': async (page) => {
      await table(page);
      await command(page, 'Choose what to run');
      await page.getByRole('dialog', { name: /^Run \d+ cells/ }).waitFor();
    },
    commands: async (page) => {
      await table(page);
      await page.keyboard.press('Control+k');
      await page.getByRole('option', { name: 'Run all rows' }).waitFor();
    },
    keyboard: async (page) => {
      await table(page);
      await command(page, 'Keyboard shortcuts');
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Fill down').waitFor();
    },
  };
}

function importing(table) {
  const open = async (page) => {
    await table(page);
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    await page.getByText('Drop a file here').waitFor();
  };
  const text = [
    'Company,City,Work email,Employees,Signed up',
    'Copperline,Bristol,ada@copperline.example,"1,200",2026-03-04',
    'Bright Harbor,Genoa,grace@harbor.example,85,2026-03-11',
    'Fieldstone,Bergen,alan@fieldstone.example,340,2026-04-02',
  ].join('\n');
  return {
    import: open,
    'import-mapping': async (page) => {
      await open(page);
      const choosing = page.waitForEvent('filechooser');
      await page.getByRole('button', { name: 'Choose a file' }).click();
      await (await choosing).setFiles({ name: 'leads.csv', mimeType: 'text/csv', buffer: Buffer.from(text) });
      await page.getByText('ada@copperline.example').waitFor();
    },
  };
}

function settings(server, project) {
  const team = (section, name) => heading(server, `/settings/${section}`, name);
  const ofProject = (section, name) => heading(server, `/projects/${project.id}/settings/${section}`, name);
  const dialog = (open, button) => async (page) => {
    await open(page);
    await page.getByRole('button', { name: button }).first().click();
    await page.getByRole('dialog').getByRole('textbox').first().waitFor();
  };
  const [providers, keys] = [team('providers', 'E-mail finders'), team('keys', 'API keys')];
  const [webhooks, hooks] = [team('webhooks', 'Webhooks'), ofProject('hooks', 'Inbound webhooks')];
  return {
    'settings-providers': providers,
    'settings-secrets': team('secrets', 'Secrets'),
    'settings-keys': keys,
    'settings-sessions': team('sessions', 'Signed-in browsers'),
    'settings-webhooks': webhooks,
    'settings-agents': team('agents', 'Connect an agent'),
    'settings-team': team('team', 'Your team'),
    'settings-usage': team('usage', 'Usage'),
    'settings-spending': team('spending', 'Spending caps'),
    'project-general': ofProject('general', 'Running'),
    'project-api': ofProject('api', 'API access'),
    'project-hooks': hooks,
    'project-event': ofProject('event', 'Event platform'),
    'dialog-provider': dialog(providers, 'Add key: OpenAI'),
    'dialog-key': dialog(keys, 'New key'),
    'dialog-webhook': dialog(webhooks, 'New webhook'),
    'dialog-hook': dialog(hooks, 'New hook'),
  };
}

/** A table of its own, made here: pictures of the list of projects are without it. */
async function trash(page, server) {
  const headers = ['Company', 'City', 'Phone'];
  const { project } = await server.api('POST', '/projects', { title: 'Old leads', columns: headers.map((header) => ({ templateId: 'manual', header })) });
  const at = `/projects/${project.id}`;
  const { rows } = await server.api('POST', `${at}/rows`, ['Acme', 'Initech', 'Hooli'].map((Company) => ({ Company, City: 'Oslo' })));
  const { view } = await server.api('POST', `${at}/views`, { name: 'In Oslo', filters: [] });
  await server.api('DELETE', `${at}/rows`, { rowIds: rows.slice(1) });
  await server.api('DELETE', `${at}/views/${view.id}`);
  await server.api('DELETE', `${at}/columns/${project.columns.at(-1).id}`);
  await page.goto(server.url + at);
  await gridOf(page).reads(0, 1, 'Acme');
  await page.getByRole('button', { name: 'Trash', exact: true }).click();
  await page.getByRole('complementary', { name: 'Trash' }).getByText('2 rows', { exact: true }).waitFor();
}
