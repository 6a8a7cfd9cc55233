import type { Json } from '../../api/types';
import type { IconName } from '../../ui/iconPaths';
import { TYPES } from '../formats/format';
import type { ColumnStyle } from './columnStyle';
import { type Display, displayOf } from './display';

const ICONS: Partial<Record<Display['kind'], IconName>> = {
  number: 'hash',
  checkbox: 'checkbox',
  chips: 'list',
  date: 'calendar',
  email: 'mail',
  link: 'external',
  fields: 'braces',
};

/** The icon of what a column holds. Its sample values must all be of one kind. */
export function valueIcon(style: ColumnStyle, samples: readonly Json[]): IconName {
  if (style.format) return TYPES[style.format.type].icon;
  const kinds = new Set(samples.filter((value) => value !== null && value !== '').map((value) => displayOf(value, style).kind));
  // Objects and lists beside each other are JSON.
  if (kinds.has('fields')) kinds.delete('chips');
  const [kind] = kinds;
  return (kinds.size === 1 && kind && ICONS[kind]) || 'text';
}
