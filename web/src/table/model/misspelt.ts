/** Fields that may be misspelt, with the headers they resemble: `“Ctiy” looks like “City”.` */
export function misspeltText(hints: Readonly<Record<string, string>>): string {
  return Object.entries(hints)
    .map(([field, header]) => `“${field}” looks like “${header}”.`)
    .join(' ');
}

export interface LeftoverFields {
  /** Fields that were not stored. */
  ignoredKeys?: readonly string[];
  /** Fields that were stored in the input column. */
  keptAsInput?: readonly string[];
  hints?: Readonly<Record<string, string>>;
}

/** What became of fields that name no column, in sentences; empty if there were none. */
export function leftoverText({ ignoredKeys = [], keptAsInput = [], hints = {} }: LeftoverFields): string {
  const parts = [
    ignoredKeys.length > 0 && `Not saved, because no column has this name: ${ignoredKeys.join(', ')}.`,
    keptAsInput.length > 0 && `Saved in the input column, because no other column has this name: ${keptAsInput.join(', ')}.`,
    misspeltText(hints),
  ];
  return parts.filter(Boolean).join(' ');
}
