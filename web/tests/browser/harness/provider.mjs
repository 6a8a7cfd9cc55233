// Fake provider that answers slowly and counts its requests.
import http from 'node:http';

export async function startProvider(milliseconds = 0) {
  const asked = [];
  const server = http.createServer((request, response) => {
    const url = new URL(request.url, 'http://provider');
    asked.push(url.searchParams.get('q'));
    const timer = setTimeout(() => {
      response.setHeader('Content-Type', 'application/json');
      if (url.searchParams.get('q')?.startsWith('fail')) response.statusCode = 402;
      if (url.searchParams.get('q')?.startsWith('none')) response.statusCode = 404;
      if (url.searchParams.get('q') === 'later') response.writeHead(429, { 'Retry-After': '60' });
      response.end(JSON.stringify({ company: { name: `${url.searchParams.get('q')} Ltd`, employees: 12 } }));
    }, milliseconds);
    response.on('close', () => clearTimeout(timer));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    asked,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
