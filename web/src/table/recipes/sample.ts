import type { Json } from '../../api/types';
import type { IconName } from '../../ui/iconPaths';
import type { RecipeColumn } from '../model/recipe';

/** A table to begin with: columns as in a recipe, and rows by header. */
export interface Sample {
  /** The version of this format. */
  sample: 1;
  order: number;
  icon: IconName;
  name: string;
  about: string;
  title: string;
  /** The header of the first column, which every table has. */
  input: string;
  columns: RecipeColumn[];
  rows: Record<string, Json>[];
}

const files = import.meta.glob<Sample>('../../samples/*.json', { eager: true, import: 'default' });

/** The sample tables that come with Rowmill. */
export const SAMPLES: readonly Sample[] = Object.values(files).sort((a, b) => a.order - b.order);
