// What the scenarios share: where the service is, and what to do when an answer is not as expected.

export const url = variable('CLIENT_URL');
export const key = variable('CLIENT_KEY');

export const csv = 'Name,City\r\nGrace,New York\r\nEdsger,Austin\r\n';

function variable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

export function expectSame(actual: unknown, expected: unknown, what: string): void {
  const [left, right] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (left !== right) throw new Error(`${what}: expected ${right}, got ${left}`);
}

/** The answer of an operation that must succeed. */
export function data<T>(answer: { data?: T; error?: unknown }, what: string): T {
  if (answer.data === undefined) throw new Error(`${what}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

/** Asks every 100 ms until nothing is being processed. */
export async function untilDone(isProcessing: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (!(await isProcessing())) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('the cells are not done after 30 s');
}
