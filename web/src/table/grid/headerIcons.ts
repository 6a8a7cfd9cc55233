import type { SpriteMap } from '@glideapps/glide-data-grid';
import { type IconName, ICON_PATHS } from '../../ui/iconPaths';

const USED: IconName[] = ['table', 'text', 'spark', 'braces', 'mail', 'globe', 'plug', 'link', 'hash', 'checkbox', 'list', 'calendar', 'external', 'lines', 'coin', 'percent', 'phone', 'star'];

/** The page's icons for the grid's canvas. */
export const HEADER_ICONS: SpriteMap = Object.fromEntries(
  USED.map((name) => [
    name,
    ({ bgColor }: { bgColor: string }) =>
      `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" viewBox="0 0 24 24" fill="none" stroke="${bgColor}" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"><path d="${ICON_PATHS[name]}"/></svg>`,
  ]),
);
