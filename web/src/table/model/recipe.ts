import type { ColumnCreate } from '../../api/types';
import type { TemplateId } from './templates';

/** A column of a recipe: as the API takes it, with names instead of ids in its references. */
export type RecipeColumn = { templateId: TemplateId; header: string } & Omit<ColumnCreate, 'templateId' | 'header' | 'order' | 'dependencies'>;

/** A set of columns that can be added to any table. `@{Name}` refers to an input, or to an earlier column of the recipe. */
export interface Recipe {
  /** The version of this format. */
  recipe: 1;
  name: string;
  about: string;
  /** What the table must have: names, which are also what to look for in its headers. */
  inputs: string[];
  columns: RecipeColumn[];
}

/** Which column stands for each name of a recipe. */
export type NamedColumns = Record<string, string>;
