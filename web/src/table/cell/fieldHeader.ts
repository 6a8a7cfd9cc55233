/** The header for a field's column: `company.statusCode` becomes “Status code”. */
export function fieldHeader(path: string): string {
  const names = path.match(/[^.[\]$'"\\]+/g)?.filter((part) => !/^\d+$/.test(part)) ?? [];
  const words = (names.at(-1) ?? 'Field')
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .trim();
  return words.charAt(0).toUpperCase() + (words === words.toUpperCase() ? words.slice(1) : words.slice(1).toLowerCase());
}
