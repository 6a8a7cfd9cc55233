export interface SchemaField {
  name: string;
  type: 'string' | 'number' | 'boolean' | 'array';
  description: string;
}

type Schema = Record<string, unknown>;
type Property = { type?: unknown; description?: unknown; items?: { type?: unknown } } & Schema;

const SIMPLE = new Set(['type', 'description', 'items']);

/** The fields of a schema; undefined if a list of fields cannot express it. */
export function fieldsOf(schema: Schema | undefined): SchemaField[] | undefined {
  if (!schema) return [];
  const { type, properties } = schema;
  if (type !== 'object' || typeof properties !== 'object' || properties === null) return undefined;
  const fields: SchemaField[] = [];
  for (const [name, property] of Object.entries(properties as Record<string, Property>)) {
    if (Object.keys(property).some((key) => !SIMPLE.has(key))) return undefined;
    const { type: kind, description } = property;
    if (kind !== 'string' && kind !== 'number' && kind !== 'boolean' && kind !== 'array') return undefined;
    fields.push({ name, type: kind, description: typeof description === 'string' ? description : '' });
  }
  return fields;
}

/** A schema with these fields. All are required, because models leave out optional fields. */
export function schemaOf(fields: readonly SchemaField[]): Schema {
  const properties = Object.fromEntries(
    fields.map(({ name, type, description }) => [
      name,
      { type, ...(type === 'array' && { items: { type: 'string' } }), ...(description && { description }) },
    ]),
  );
  return { type: 'object', properties, required: fields.map(({ name }) => name), additionalProperties: false };
}
