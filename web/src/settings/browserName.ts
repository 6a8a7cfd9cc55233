/** Brand tokens of a user agent, the most specific first: Edge also says Chrome, and Chrome also says Safari. */
const BROWSERS: [RegExp, string][] = [
  [/Edg/, 'Edge'],
  [/OPR/, 'Opera'],
  [/Firefox|FxiOS/, 'Firefox'],
  [/Chrom|CriOS/, 'Chrome'],
  [/Safari/, 'Safari'],
];

const SYSTEMS: [RegExp, string][] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux/, 'Linux'],
];

/** “Firefox on Linux”, or the user agent itself if it says neither. */
export function browserName(userAgent: string): string {
  const find = (names: [RegExp, string][]) => names.find(([pattern]) => pattern.test(userAgent))?.[1];
  const words = [find(BROWSERS), find(SYSTEMS)].filter((word) => word !== undefined);
  return words.join(' on ') || userAgent || 'Unknown browser';
}
