// Behind a proxy with a path prefix: URLs, deep links, events and the session.
import assert from 'node:assert/strict';
import http from 'node:http';
import { gridOf, openTable, signIn } from '../harness/browser.mjs';

const PREFIX = '/tools/mill';

export default async function prefix({ server, page, complaints }) {
  const { project } = await server.api('POST', '/projects', { title: 'Below', columns: [{ templateId: 'manual', header: 'Name' }] });
  await server.api('POST', `/projects/${project.id}/rows`, [{ Name: 'one' }]);
  const proxy = await startProxy(server.url);
  try {
    const below = { ...server, url: proxy.url + PREFIX };
    await signIn(page, below);
    await page.getByRole('link', { name: 'Below' }).click();
    await page.waitForURL(`${below.url}/projects/${project.id}`);
    await openTable(page, below, project.id);
    const grid = gridOf(page);
    await grid.reads(0, 1, 'one');
    await server.api('POST', `/projects/${project.id}/rows`, [{ Name: 'told by an event' }]);
    await grid.reads(1, 1, 'told by an event');
    for (const lost of ['/nope', '/nope/further', '/projects/none']) {
      await page.goto(below.url + lost);
      await page.getByRole('heading', { name: 'Page not found' }).waitFor();
      await page.getByRole('link', { name: 'Go to projects' }).click();
      await page.getByRole('link', { name: 'Below' }).waitFor();
      assert.equal(page.url(), `${below.url}/`);
    }
    await page.goto(`${below.url}/projects/`);
    await page.getByRole('link', { name: 'Below' }).waitFor();
    assert.deepEqual(proxy.strayed, []);
    // The browser logs the expected 404.
    assert.deepEqual(complaints.splice(0).filter((words) => !words.includes('404')), []);
  } finally {
    proxy.stop();
  }
}

/** Forwards requests below the prefix without it, and records all others. */
async function startProxy(target) {
  const strayed = [];
  const { hostname, port } = new URL(target);
  const server = http.createServer((request, response) => {
    if (!request.url.startsWith(`${PREFIX}/`)) {
      if (request.url !== '/favicon.ico') strayed.push(request.url);
      response.statusCode = 404;
      return response.end();
    }
    const path = request.url.slice(PREFIX.length);
    const headers = { ...request.headers, 'x-forwarded-prefix': PREFIX };
    const onward = http.request({ hostname, port, path, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url: `http://127.0.0.1:${server.address().port}`, strayed, stop };
}
