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
  const { default: scenario } = await import(new URL(`${name}.mjs`, folder));
  const startedAt = Date.now();
  const server = await startServer();
  const { page, complaints, context } = await openWindow(browser);
  try {
    await scenario({ browser, server, page, complaints });
    if (complaints.length > 0) throw new Error(`The page complained: ${complaints.join(' | ')}`);
    console.log(`ok   ${name} (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed += 1;
    await page.screenshot({ path: new URL(`../screenshots/failed-${name}.png`, import.meta.url).pathname }).catch(() => {});
    console.error(`FAIL ${name}: ${error.stack}${complaints.length > 0 ? `\n  page: ${complaints.join(' | ')}` : ''}`);
  } finally {
    await context.close();
    await server.stop();
  }
}
await browser.close();
console.log(failed === 0 ? `${names.length} scenarios passed` : `${failed} of ${names.length} scenarios failed`);
process.exitCode = failed === 0 ? 0 : 1;
