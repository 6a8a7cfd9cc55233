// Runs all scenarios, or those named on the command line, each with its own service.
import { readdirSync } from 'node:fs';
import { launch, openWindow } from './harness/browser.mjs';
import { startServer } from './harness/server.mjs';

const folder = new URL('./scenarios/', import.meta.url);
const wanted = process.argv.slice(2);
const names = readdirSync(folder)
  .map((file) => file.replace('.mjs', ''))
  .filter((name) => wanted.length === 0 || wanted.includes(name));

const browser = await launch();
let failed = 0;
for (const name of names) {
  // What fails is tried once more, and told of: a busy machine is late now and then.
  if ((await run(name)) || (await run(name, ' at the second try'))) continue;
  failed += 1;
}
await browser.close();
console.log(failed === 0 ? `${names.length} scenarios passed` : `${failed} of ${names.length} scenarios failed`);
process.exitCode = failed === 0 ? 0 : 1;

/** Runs a scenario with its own service, and says whether it passed. */
async function run(name, whichTry = '') {
  const { default: scenario } = await import(new URL(`${name}.mjs`, folder));
  const startedAt = Date.now();
  const server = await startServer();
  const { page, complaints, context } = await openWindow(browser);
  try {
    await scenario({ browser, server, page, complaints });
    if (complaints.length > 0) throw new Error(`The page complained: ${complaints.join(' | ')}`);
    console.log(`ok   ${name}${whichTry} (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`);
    return true;
  } catch (error) {
    await page.screenshot({ path: new URL(`../screenshots/failed-${name}.png`, import.meta.url).pathname }).catch(() => {});
    console.error(`FAIL ${name}${whichTry}: ${error.stack}${complaints.length > 0 ? `\n  page: ${complaints.join(' | ')}` : ''}`);
    return false;
  } finally {
    await context.close();
    await server.stop();
  }
}
