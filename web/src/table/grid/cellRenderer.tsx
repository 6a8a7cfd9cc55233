import type { CustomRenderer, DrawArgs } from '@glideapps/glide-data-grid';
import { GridCellKind } from '@glideapps/glide-data-grid';
import { drawnLine } from '../display/display';
import { shortMessage } from '../model/cellStatus';
import { bias, firstLine, SHORT_ROW } from './canvasText';
import { actionOf, isRowmillCell, type RowmillCell } from './cellContent';
import { CellEditor } from './CellEditor';
import { drawDisplay, drawText } from './drawDisplay';
import { drawThumbnail, TEXT_WIDTH_MIN } from './drawThumbnail';
import type { CellColors } from './gridTheme';
import type { Thumbnails } from './thumbnails';
import { typedEditor } from './typedEditors';

type Args = DrawArgs<RowmillCell>;

/** Draws a cell and its status. Colours are a parameter because a canvas has no style sheet. */
export function cellRenderer(colors: CellColors, thumbnails: Thumbnails): CustomRenderer<RowmillCell> {
  return {
    kind: GridCellKind.Custom,
    isMatch: isRowmillCell,
    needsHover: (cell) => cell.data.isProcessed || actionOf(cell.data) !== undefined,
    needsHoverPosition: true,
    draw: (args) => draw(args, colors, thumbnails),
    measure: (ctx, cell, theme) =>
      Math.min(420, ctx.measureText(drawnLine(cell.data.display).slice(0, MEASURED_MAX)).width + theme.cellHorizontalPadding * 2 + 18 + (cell.data.image ? THUMBNAIL_WIDTH : 0)),
    provideEditor: (cell) => ({ editor: typedEditor(cell) ?? CellEditor, disablePadding: true, styleOverride: { overflow: 'hidden' } }),
    onDelete: (cell) => ({ ...cell, data: { ...cell.data, text: '' } }),
    onPaste: (text, data) => ({ ...data, text }),
  };
}

/** What an image takes in a short row. */
const THUMBNAIL_WIDTH = 44;

/** A column grows no wider than this many letters. */
const MEASURED_MAX = 100;

function draw(args: Args, colors: CellColors, thumbnails: Thumbnails): void {
  const { cell, display, hint, isProcessed } = args.cell.data;
  switch (isProcessed ? cell.status : 'idle') {
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
  if (hint) return words(args, hint, colors.quiet, 0);
  if (cell.value === null && cell.status === 'completed') return words(args, 'Nothing found', colors.quiet, 0);
  const isMisfit = 'misfit' in display && display.misfit !== undefined;
  const marks = (cell.stale ? 1 : 0) + (cell.manual ? 1 : 0) + (isMisfit ? 1 : 0);
  const action = args.hoverAmount > 0.05 ? actionOf(args.cell.data) : undefined;
  const hasButton = action === 'open' || action === 'copy';
  const taken = drawThumbnailOf(args, thumbnails);
  const rect = { ...args.rect, x: args.rect.x + taken, width: args.rect.width - taken };
  if (taken === 0 || rect.width > TEXT_WIDTH_MIN) drawDisplay({ ...args, rect }, display, colors, Math.max(marks * 16, hasButton ? ACTION_WIDTH - 8 : 0));
  if (hasButton) return actionButton(args, colors, action);
  if (cell.stale) corner(args, colors.stale, 0, 'stale');
  if (cell.manual) corner(args, colors.manual, cell.stale ? 1 : 0, 'manual');
  if (isMisfit) corner(args, colors.stale, marks - 1, 'misfit');
  if (cell.status === 'idle' && cell.value === null && isProcessed) runButton(args, colors);
}

/** Draws the image that a cell names. Returns the width it takes. */
function drawThumbnailOf(args: Args, thumbnails: Thumbnails): number {
  const { image } = args.cell.data;
  return image === undefined ? 0 : drawThumbnail(args, thumbnails.show(image, args.col, args.row));
}

const INDENT = 20;

function words(args: Args, text: string, color: string, indent = INDENT): void {
  drawText(args, text, color, 0, indent);
}

function center(args: Args): [number, number] {
  return [args.rect.x + args.theme.cellHorizontalPadding + 6, firstLine(args)];
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

/** Mark at the right: a dot for an outdated cell, a pencil for a manual edit, a triangle for a value that does not fit. */
function corner(args: Args, color: string, place: number, kind: 'stale' | 'manual' | 'misfit'): void {
  const { ctx, rect } = args;
  const x = rect.x + rect.width - 12 - place * 16;
  const y = firstLine(args);
  ctx.beginPath();
  if (kind === 'stale') {
    ctx.arc(x, y, 4, Math.PI * 0.2, Math.PI * 1.9);
    stroke(ctx, color, 1.6);
    return;
  }
  if (kind === 'misfit') return triangle(ctx, color, x, y);
  ctx.moveTo(x - 4, y + 4);
  ctx.lineTo(x - 3, y + 0.5);
  ctx.lineTo(x + 2.5, y - 5);
  ctx.lineTo(x + 4.5, y - 3);
  ctx.lineTo(x - 1, y + 2.5);
  ctx.closePath();
  stroke(ctx, color, 1.3);
}

function triangle(ctx: CanvasRenderingContext2D, color: string, x: number, y: number): void {
  ctx.moveTo(x, y - 5);
  ctx.lineTo(x + 5.5, y + 4.5);
  ctx.lineTo(x - 5.5, y + 4.5);
  ctx.closePath();
  ctx.moveTo(x, y - 1.5);
  ctx.lineTo(x, y + 1);
  ctx.moveTo(x, y + 2.9);
  ctx.lineTo(x, y + 3);
  stroke(ctx, color, 1.3);
}

/** Width of the run button that an empty cell of a processed column shows on hover. */
export const RUN_BUTTON_WIDTH = 58;

function runButton(args: Args, colors: CellColors): void {
  if (args.hoverAmount < 0.05) return;
  const { ctx, rect } = args;
  const x = rect.x + rect.width - RUN_BUTTON_WIDTH;
  const y = firstLine(args);
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

/** Width of the button that opens a link or copies an e-mail address, shown on hover. */
export const ACTION_WIDTH = 32;

/** Icons of the button, on a 16 by 16 grid. */
const ACTION_ICONS = {
  open: ['M6.500 3.500H3.500v9h9V9.500', 'M9.500 3.500h3v3', 'M12.500 3.500L7.500 8.500'],
  copy: ['M6.500 6.500h6.500v6.500H6.500z', 'M9.500 3.500H3v6.500'],
} as const;

function actionButton(args: Args, colors: CellColors, action: keyof typeof ACTION_ICONS): void {
  const { ctx, rect, hoverX } = args;
  const x = rect.x + rect.width - ACTION_WIDTH + 4;
  const y = rect.y + Math.min(rect.height, SHORT_ROW) / 2 - 11;
  const isOver = hoverX !== undefined && hoverX > rect.width - ACTION_WIDTH;
  if (isOver) args.overrideCursor?.('pointer');
  ctx.globalAlpha = args.hoverAmount;
  ctx.beginPath();
  ctx.roundRect(x, y, 22, 22, 6);
  ctx.fillStyle = isOver ? args.theme.accentLight : args.theme.bgCellMedium;
  ctx.fill();
  ctx.save();
  ctx.translate(x + 3, y + 3);
  for (const path of ACTION_ICONS[action]) {
    ctx.strokeStyle = isOver ? colors.generating : colors.quiet;
    ctx.lineWidth = 1.3;
    ctx.lineCap = 'round';
    ctx.stroke(new Path2D(path));
  }
  ctx.restore();
  ctx.globalAlpha = 1;
}

function stroke(ctx: CanvasRenderingContext2D, color: string, width: number): void {
  ctx.strokeStyle = color;
  ctx.lineWidth = width;
  ctx.lineCap = 'round';
  ctx.stroke();
}
