import type { BaseDrawArgs, CustomRenderer, DrawArgs } from '@glideapps/glide-data-grid';
import { GridCellKind } from '@glideapps/glide-data-grid';
import { shortMessage } from '../model/cellStatus';
import { drawnText, isRowmillCell, type RowmillCell } from './cellContent';
import { CellEditor } from './CellEditor';
import type { StatusColors } from './gridTheme';

type Args = DrawArgs<RowmillCell>;

/** Draws a cell and its status. Colours are a parameter because a canvas has no style sheet. */
export function cellRenderer(colors: StatusColors): CustomRenderer<RowmillCell> {
  return {
    kind: GridCellKind.Custom,
    isMatch: isRowmillCell,
    needsHover: (cell) => cell.data.isProcessed,
    draw: (args) => draw(args, colors),
    measure: (ctx, cell, theme) =>
      Math.min(420, ctx.measureText(drawnText(cell.data.text)).width + theme.cellHorizontalPadding * 2 + 18),
    provideEditor: () => ({ editor: CellEditor, disablePadding: true, styleOverride: { overflow: 'hidden' } }),
    onDelete: (cell) => ({ ...cell, data: { ...cell.data, text: '' } }),
    onPaste: (text, data) => ({ ...data, text }),
  };
}

function draw(args: Args, colors: StatusColors): void {
  const { cell, stale, manual } = { cell: args.cell.data.cell, ...args.cell.data.cell };
  switch (args.cell.data.isProcessed ? cell.status : 'idle') {
    case 'queued':
      ring(args, colors.queued);
      return words(args, cell.retryAt ? `Waiting to retry${cell.error ? `: ${shortMessage(cell.error.message)}` : ''}` : 'Queued', colors.quiet);
    case 'generating':
      spinner(args, colors.generating);
      return words(args, 'Running', colors.generating);
    case 'error':
      dot(args, colors.error, '!');
      return words(args, shortMessage(cell.error?.message ?? 'Failed'), colors.error);
    case 'skipped':
      dash(args, colors.quiet);
      return words(args, cell.error?.message ?? 'Skipped', colors.quiet);
    default:
  }
  if (args.cell.data.hint) return words(args, args.cell.data.hint, colors.quiet, 0);
  if (cell.value === null && cell.status === 'completed') return words(args, 'Nothing found', colors.quiet, 0);
  const marks = (stale ? 1 : 0) + (manual ? 1 : 0);
  text(args, drawnText(args.cell.data.text), args.theme.textDark, 0, marks * 16);
  if (stale) corner(args, colors.stale, 0, 'stale');
  if (manual) corner(args, colors.manual, stale ? 1 : 0, 'manual');
  if (cell.status === 'idle' && cell.value === null && args.cell.data.isProcessed) runButton(args, colors);
}

const INDENT = 20;

function words(args: Args, words: string, color: string, indent = INDENT): void {
  text(args, drawnText(words), color, indent, 0);
}

function text({ ctx, rect, theme }: Args, line: string, color: string, left: number, right: number): void {
  if (!line) return;
  const x = rect.x + theme.cellHorizontalPadding + left;
  const width = rect.width - theme.cellHorizontalPadding * 2 - left - right;
  ctx.fillStyle = color;
  ctx.fillText(fit(ctx, line, width), x, rect.y + rect.height / 2 + bias(theme, ctx));
}

const fits = new Map<string, string>();

/** Cuts text to a width, with an ellipsis. Cached, because the same cells are drawn again and again. */
function fit(ctx: CanvasRenderingContext2D, line: string, width: number): string {
  // A short text fits if it does so at six pixels a letter, so most need no measuring.
  if (line.length * 6 < width && line.length < 12) return line;
  const key = `${Math.round(width)}|${line}`;
  const known = fits.get(key);
  if (known !== undefined) return known;
  const cut = cutTo(ctx, line, width);
  if (fits.size > 5000) fits.clear();
  fits.set(key, cut);
  return cut;
}

function cutTo(ctx: CanvasRenderingContext2D, line: string, width: number): string {
  if (ctx.measureText(line).width <= width) return line;
  let low = 0;
  let high = line.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (ctx.measureText(`${line.slice(0, middle)}…`).width <= width) low = middle;
    else high = middle - 1;
  }
  return `${line.slice(0, low)}…`;
}

function bias(theme: BaseDrawArgs['theme'], ctx: CanvasRenderingContext2D): number {
  return ctx.textBaseline === 'middle' ? 1 : Number.parseInt(theme.baseFontStyle, 10) / 3;
}

function center({ rect, theme }: Args): [number, number] {
  return [rect.x + theme.cellHorizontalPadding + 6, rect.y + rect.height / 2];
}

function ring(args: Args, color: string): void {
  const [x, y] = center(args);
  args.ctx.beginPath();
  args.ctx.arc(x, y, 5, 0, Math.PI * 2);
  args.ctx.setLineDash([2.5, 2.2]);
  stroke(args.ctx, color, 1.5);
  args.ctx.setLineDash([]);
}

function spinner(args: Args, color: string): void {
  const [x, y] = center(args);
  const turn = ((args.frameTime % 900) / 900) * Math.PI * 2;
  args.ctx.beginPath();
  args.ctx.arc(x, y, 5, turn, turn + Math.PI * 1.4);
  stroke(args.ctx, color, 1.8);
  args.requestAnimationFrame();
}

function dot(args: Args, color: string, sign: string): void {
  const [x, y] = center(args);
  const { ctx } = args;
  ctx.beginPath();
  ctx.arc(x, y, 6.5, 0, Math.PI * 2);
  ctx.fillStyle = color;
  ctx.fill();
  ctx.save();
  ctx.fillStyle = args.theme.bgCell;
  ctx.font = `700 10px ${args.theme.fontFamily}`;
  ctx.textAlign = 'center';
  ctx.fillText(sign, x, y + 1);
  ctx.restore();
}

function dash(args: Args, color: string): void {
  const [x, y] = center(args);
  args.ctx.beginPath();
  args.ctx.moveTo(x - 5, y);
  args.ctx.lineTo(x + 5, y);
  stroke(args.ctx, color, 1.6);
}

/** Mark at the right: a dot for an outdated cell, a pencil for a manual edit. */
function corner(args: Args, color: string, place: number, kind: 'stale' | 'manual'): void {
  const { ctx, rect } = args;
  const x = rect.x + rect.width - 12 - place * 16;
  const y = rect.y + rect.height / 2;
  ctx.beginPath();
  if (kind === 'stale') {
    ctx.arc(x, y, 4, Math.PI * 0.2, Math.PI * 1.9);
    stroke(ctx, color, 1.6);
    return;
  }
  ctx.moveTo(x - 4, y + 4);
  ctx.lineTo(x - 3, y + 0.5);
  ctx.lineTo(x + 2.5, y - 5);
  ctx.lineTo(x + 4.5, y - 3);
  ctx.lineTo(x - 1, y + 2.5);
  ctx.closePath();
  stroke(ctx, color, 1.3);
}

/** Width of the run button that an empty cell of a processed column shows on hover. */
export const RUN_BUTTON_WIDTH = 58;

function runButton(args: Args, colors: StatusColors): void {
  if (args.hoverAmount < 0.05) return;
  const { ctx, rect } = args;
  const x = rect.x + rect.width - RUN_BUTTON_WIDTH;
  const y = rect.y + rect.height / 2;
  ctx.globalAlpha = args.hoverAmount;
  ctx.beginPath();
  ctx.roundRect(x, y - 11, RUN_BUTTON_WIDTH - 6, 22, 6);
  ctx.fillStyle = args.theme.accentLight;
  ctx.fill();
  ctx.beginPath();
  ctx.moveTo(x + 9, y - 4);
  ctx.lineTo(x + 16, y);
  ctx.lineTo(x + 9, y + 4);
  ctx.closePath();
  ctx.fillStyle = colors.generating;
  ctx.fill();
  ctx.fillText('Run', x + 21, y + bias(args.theme, ctx));
  ctx.globalAlpha = 1;
}

function stroke(ctx: CanvasRenderingContext2D, color: string, width: number): void {
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.lineCap = 'round';
  ctx.stroke();
}
