import type { Recipe } from '../model/recipe';

const files = import.meta.glob<Recipe>('../../recipes/*.json', { eager: true, import: 'default' });

/** The recipes that come with Rowmill. */
export const RECIPES: readonly Recipe[] = Object.values(files);
