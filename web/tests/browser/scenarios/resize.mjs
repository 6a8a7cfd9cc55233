// The grid fills its place after every change of the window's size, also if the colours change at the same time and motion
// is reduced.
import assert from 'node:assert/strict';
import { gridOf, openTable, openWindow, signIn } from '../harness/browser.mjs';

const SIZES = [
  { width: 390, height: 780 },
  { width: 900, height: 700 },
  { width: 1360, height: 820 },
];

export default async function resize({ browser, server }) {
  const { project } = await server.api('POST', '/projects', {
    title: 'Sizes',
    columns: ['Name', 'City', 'Owner'].map((header) => ({ templateId: 'manual', header })),
  });
  await server.api('POST', `/projects/${project.id}/rows`, Array.from({ length: 60 }, (_, index) => ({ Name: `Person ${index}` })));
  const { page, context, complaints } = await openWindow(browser, { reducedMotion: 'reduce' });
  await signIn(page, server);
  await openTable(page, server, project.id);
  await gridOf(page).reads(0, 1, 'Person 0');
  assert.equal(await page.evaluate(widthAtOnce), 50, 'a new size holds at once');
  for (const [place, size] of [...SIZES, ...SIZES].entries()) {
    const colorScheme = place % 2 === 0 ? 'dark' : 'light';
    await Promise.all([page.setViewportSize(size), page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })]);
    await isFilled(page, size, colorScheme);
  }
  assert.deepEqual(complaints, []);
  await context.close();
}

function widthAtOnce() {
  const element = document.body.appendChild(document.createElement('div'));
  element.style.width = '10px';
  element.getBoundingClientRect();
  element.style.width = '50px';
  const { width } = element.getBoundingClientRect();
  element.remove();
  return width;
}

/** Waits until the canvas is as large as its place, and drawn in the colours of the scheme to its last corner. */
function isFilled(page, { width, height }, colorScheme) {
  return page.waitForFunction(
    ([wide, high, isDark]) => {
      const canvas = document.querySelector('[data-testid="data-grid-canvas"]');
      const place = document.querySelector('.dvn-scroller').getBoundingClientRect();
      const drawn = canvas.getBoundingClientRect();
      if (window.innerWidth !== wide || window.innerHeight !== high || place.width !== wide) return false;
      if (drawn.width !== place.width || drawn.height !== place.height) return false;
      const [red] = canvas.getContext('2d').getImageData(canvas.width - 4, canvas.height - 4, 1, 1).data;
      return isDark ? red < 60 : red > 200;
    },
    [width, height, colorScheme === 'dark'],
    // Not at every frame: asking for frames would hide that nothing else does.
    { polling: 100 },
  );
}
