// Fake AI provider. It answers at once and reports its cost.
import http from 'node:http';

export async function startModel(cost) {
  const server = http.createServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('Content-Type', 'application/json');
      response.end(JSON.stringify({ model: 'small', choices: [{ message: { content: 'A mill.' }, finish_reason: 'stop' }], usage: { cost } }));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
