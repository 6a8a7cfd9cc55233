import type { BaseDrawArgs } from '@glideapps/glide-data-grid';

type Context = CanvasRenderingContext2D;

/** Height of a line of text in a cell. */
export const LINE_HEIGHT = 18;
/** Height of a short row. Taller rows keep their first line at the same place. */
export const SHORT_ROW = 33;

/** The middle of the first line. */
export function firstLine({ rect }: Pick<BaseDrawArgs, 'rect'>): number {
  return rect.y + Math.min(rect.height, SHORT_ROW) / 2;
}

/** How many lines of text fit into a row. */
export function linesIn(height: number): number {
  return Math.max(1, Math.floor((height - 14) / LINE_HEIGHT));
}

/** Moves text to the middle of its line. */
export function bias(theme: BaseDrawArgs['theme'], ctx: Context): number {
  return ctx.textBaseline === 'middle' ? 1 : Number.parseInt(theme.baseFontStyle, 10) / 3;
}

const cuts = new Map<string, string>();
const wraps = new Map<string, string[]>();
const KNOWN_MAX = 5_000;

/** Cuts text to a width, with an ellipsis. Cached, because the same cells are drawn again and again. */
export function fit(ctx: Context, line: string, width: number): string {
  // A short text fits if it does so at nine pixels a letter, so most need no measuring.
  if (line.length < 12 && line.length * 9 < width) return line;
  return remembered(cuts, `${ctx.font}|${Math.round(width)}|${line}`, () => cutTo(ctx, line, width));
}

/** Breaks text into at most `linesMax` lines; the last one is cut. */
export function wrap(ctx: Context, text: string, width: number, linesMax: number): string[] {
  if (linesMax <= 1) return [fit(ctx, text.replace(/\s+/g, ' '), width)];
  return remembered(wraps, `${ctx.font}|${Math.round(width)}|${linesMax}|${text}`, () => broken(ctx, text, width, linesMax));
}

function remembered<T>(known: Map<string, T>, key: string, make: () => T): T {
  const found = known.get(key);
  if (found !== undefined) return found;
  if (known.size > KNOWN_MAX) known.clear();
  const made = make();
  known.set(key, made);
  return made;
}

function broken(ctx: Context, text: string, width: number, linesMax: number): string[] {
  const lines: string[] = [];
  const paragraphs = text.trimEnd().split('\n');
  for (const [place, paragraph] of paragraphs.entries()) {
    let rest = paragraph.replace(/\s+/g, ' ').trim();
    do {
      // The last line ends in an ellipsis if paragraphs follow that are not shown.
      const hasMore = place < paragraphs.length - 1;
      if (lines.length === linesMax - 1) return [...lines, fit(ctx, hasMore && rest ? `${rest}…` : rest, width)];
      const [line, after] = takeLine(ctx, rest, width);
      lines.push(line);
      rest = after;
    } while (rest);
  }
  return lines;
}

function takeLine(ctx: Context, text: string, width: number): [string, string] {
  if (ctx.measureText(text).width <= width) return [text, ''];
  const end = fittingLength(ctx, text, width, '');
  const space = text.lastIndexOf(' ', end);
  const cut = space > 0 ? space : Math.max(1, end);
  return [text.slice(0, cut), text.slice(cut).trimStart()];
}

function cutTo(ctx: Context, line: string, width: number): string {
  if (ctx.measureText(line).width <= width) return line;
  return `${line.slice(0, fittingLength(ctx, line, width, '…'))}…`;
}

function fittingLength(ctx: Context, line: string, width: number, end: string): number {
  let low = 0;
  let high = line.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ctx.measureText(line.slice(0, middle) + end).width <= width) low = middle;
    else high = middle - 1;
  }
  // Never between the halves of an emoji.
  return /[\ud800-\udbff]/.test(line.charAt(low - 1)) ? low - 1 : low;
}
