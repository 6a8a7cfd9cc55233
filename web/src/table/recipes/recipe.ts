import { parseJson } from '../../api/exactNumber';
import type { Column, ColumnCreate, Json } from '../../api/types';
import { isProcessed } from '../../api/types';
import type { NamedColumns, Recipe, RecipeColumn } from '../model/recipe';
import { templateOf } from '../model/templates';
import { isJson } from '../model/values';
import { referredColumns } from '../template/tokens';

const REFERENCE = /@\{([^{}]+)\}/g;
const CONFIGS = ['aiConfig', 'taskConfig', 'apiConfig', 'referenceConfig'] as const;

/** The rest of a reference behind a name: a path or nothing; undefined if it is a reference to something else. */
function restAfter(name: string, reference: string): string | undefined {
  if (!reference.startsWith(name)) return undefined;
  const rest = reference.slice(name.length);
  return rest === '' || rest.startsWith('.') || rest.startsWith('[') ? rest : undefined;
}

/** Puts one name for another in every reference of a value. The longest name that fits counts. */
function renamed(value: Json, names: NamedColumns): Json {
  const longest = Object.keys(names).sort((a, b) => b.length - a.length);
  const rename = (text: string) =>
    text.replace(REFERENCE, (whole, reference: string) => {
      const name = longest.find((candidate) => restAfter(candidate, reference) !== undefined);
      return name === undefined ? whole : `@{${names[name]}${restAfter(name, reference)}}`;
    });
  if (typeof value === 'string') return rename(value);
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (!isJson(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, renamed(item, names)]));
}

/** The body that makes a column of a recipe, once everything it refers to has an id. */
export function columnBody(column: RecipeColumn, ids: NamedColumns): ColumnCreate {
  const body = renamed(column as unknown as Json, ids) as unknown as ColumnCreate;
  const source = body.referenceConfig?.columnId;
  if (!body.referenceConfig || !source) return body;
  return { ...body, referenceConfig: { ...body.referenceConfig, columnId: source.replace(/^@\{(.*)\}$/, '$1') } };
}

/** A fan-out column without the table that it writes to; undefined for any other column. */
export function withoutTarget(body: ColumnCreate): ColumnCreate | undefined {
  const { taskConfig } = body;
  if (!taskConfig?.fanOut?.targetProjectId) return undefined;
  return { ...body, taskConfig: { ...taskConfig, fanOut: { ...taskConfig.fanOut, targetProjectId: '', mapping: {}, matchOn: '' } } };
}

/** The columns that fill themselves as a recipe, to be used in other tables. What they refer to becomes its inputs. */
export function recipeOf(name: string, columns: readonly Column[]): Recipe {
  const filled = columns.filter((column) => isProcessed(column) || column.type === 'reference');
  const configs = (column: Column) => CONFIGS.map((config) => column[config]);
  const sources = (column: Column) => [...referredColumns(configs(column), columns), column.referenceConfig?.columnId];
  const isFilled = (id: string) => filled.some((column) => column.id === id);
  const inputs = columns.filter(({ id }) => !isFilled(id) && filled.some((column) => sources(column).includes(id)));
  const headers = Object.fromEntries(columns.map(({ id, header }) => [id, header]));
  return { recipe: 1, name, about: '', inputs: inputs.map(({ header }) => header), columns: inOrder(filled, sources).map((column) => named(column, headers)) };
}

/** Each column behind those that it refers to. */
function inOrder(columns: readonly Column[], sources: (column: Column) => (string | undefined)[]): Column[] {
  const ordered: Column[] = [];
  const visit = (column: Column) => {
    if (ordered.includes(column)) return;
    for (const id of sources(column)) {
      const source = columns.find((candidate) => candidate.id === id);
      if (source && source !== column) visit(source);
    }
    ordered.push(column);
  };
  columns.forEach(visit);
  return ordered;
}

function named(column: Column, headers: NamedColumns): RecipeColumn {
  const { referenceConfig } = column;
  const source = referenceConfig && { ...referenceConfig, columnId: `@{${referenceConfig.columnId}}` };
  const configs = Object.fromEntries(CONFIGS.flatMap((config) => (column[config] ? [[config, column[config]]] : [])));
  const whole = { templateId: templateOf(column), header: column.header, ...configs, ...(source && { referenceConfig: source }) };
  return renamed(whole as unknown as Json, headers) as unknown as RecipeColumn;
}

/** Reads a recipe's file. Throws what is wrong with it, in words. */
export function parseRecipe(text: string): Recipe {
  let read: unknown;
  try {
    read = parseJson(text);
  } catch {
    throw new Error('This file is not JSON.');
  }
  const recipe = read as Partial<Recipe> | null;
  if (recipe?.recipe !== 1) throw new Error('This file is not a recipe. A recipe has the field “recipe” with the value 1.');
  const isText = (value: unknown) => typeof value === 'string';
  if (!isText(recipe.name) || !Array.isArray(recipe.inputs) || !recipe.inputs.every(isText)) throw new Error('The recipe has no name or no list of inputs.');
  const isColumn = (column: unknown) => isText((column as RecipeColumn | null)?.header) && isText((column as RecipeColumn | null)?.templateId);
  if (!Array.isArray(recipe.columns) || recipe.columns.length === 0 || !recipe.columns.every(isColumn)) {
    throw new Error('The recipe has no columns, or one without “header” and “templateId”.');
  }
  return { ...(recipe as Recipe), about: isText(recipe.about) ? (recipe.about ?? '') : '' };
}
