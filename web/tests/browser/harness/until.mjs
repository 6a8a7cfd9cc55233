// Waits until a condition holds.
export async function until(what, isSo, millisecondsMax = 20_000) {
  const end = Date.now() + millisecondsMax;
  for (;;) {
    const answer = await isSo();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`Waited in vain until ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
