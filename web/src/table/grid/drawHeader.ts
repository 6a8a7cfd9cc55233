import type { DrawHeaderCallback } from '@glideapps/glide-data-grid';
import type { Column } from '../../api/types';
import { columnIcon } from '../model/columnIcon';
import { bias, fit } from './canvasText';
import type { CellColors } from './gridTheme';
import { type HeaderPart, headerParts, type HeaderState, partAt, TITLE_X, titleEnd } from './headerParts';
import type { ColumnLook } from './useColumnLooks';

type Args = Parameters<DrawHeaderCallback>[0];

interface Options {
  columns: readonly Column[];
  states: ReadonlyMap<string, HeaderState>;
  looks: ReadonlyMap<string, ColumnLook>;
  colors: CellColors;
}

/** Draws headers: icon or run button, title, sort arrow, cost, counts, menu, and the progress of a run. */
export function headerDrawer({ columns, states, looks, colors }: Options): DrawHeaderCallback {
  return (args, drawContent) => {
    const column = columns[args.columnIndex];
    if (!column) return drawContent();
    const state = states.get(column.id) ?? {};
    const { ctx, rect, theme, isHovered, isSelected } = args;
    const parts = headerParts(column.header, state, rect.width);
    const over = args.hoverX === undefined ? undefined : partAt(parts, args.hoverX);
    const color = isSelected ? theme.textHeaderSelected : theme.textHeader;
    const middle = rect.y + rect.height / 2;
    if (isHovered && parts.some(({ kind }) => kind === 'run')) runButton(args, middle, over?.kind === 'run', colors);
    else args.spriteManager.drawSprite(iconOf(column, looks), isSelected ? 'selected' : 'normal', ctx, rect.x + 10, middle - 9, 18, theme as never);
    ctx.fillStyle = color;
    const room = titleEnd(parts, rect.width, isHovered) - TITLE_X;
    ctx.fillText(fit(ctx, column.header, room), rect.x + TITLE_X, middle + bias(theme as never, ctx));
    for (const part of parts) drawPart(args, part, middle, part === over, state, colors);
    if (isHovered || isSelected) menuButton(args, middle, color);
    if (state.progress !== undefined) progressBar(args, state.progress, colors);
  };
}

/** A column that people type into has the icon of what it holds. */
function iconOf(column: Column, looks: ReadonlyMap<string, ColumnLook>): string {
  const icon = columnIcon(column);
  return icon === 'text' ? (looks.get(column.id)?.icon ?? icon) : icon;
}

function drawPart(args: Args, part: HeaderPart, middle: number, isOver: boolean, { sort }: HeaderState, colors: CellColors): void {
  const { ctx, rect, theme, isSelected } = args;
  if (part.kind === 'run') return;
  const x = rect.x + part.x;
  const tint = { sort: theme.textHeader, cost: colors.quiet, progress: colors.generating, done: colors.quiet, failed: colors.error, stale: colors.stale }[part.kind];
  const color = isSelected ? theme.textHeaderSelected : tint;
  if (isOver && part.kind !== 'progress') {
    ctx.beginPath();
    ctx.roundRect(x - 3, middle - 10, part.width + 6, 20, 6);
    ctx.fillStyle = isSelected ? theme.accentColor : theme.bgHeaderHasFocus;
    ctx.fill();
  }
  ctx.save();
  ctx.strokeStyle = color;
  ctx.fillStyle = color;
  ctx.lineWidth = 1.6;
  ctx.lineCap = 'round';
  ctx.lineJoin = 'round';
  if (part.kind === 'sort') arrow(ctx, x + 9, middle, sort === 'asc');
  else if (isCount(part.kind)) mark(ctx, part.kind, x + 6, middle);
  ctx.font = `550 11.5px ${theme.fontFamily}`;
  ctx.fillText(part.label, x + (isCount(part.kind) ? 13 : 1), middle + bias(theme as never, ctx));
  ctx.restore();
}

type CountKind = 'done' | 'failed' | 'stale';

/** Counts have a mark before their number. */
function isCount(kind: HeaderPart['kind']): kind is CountKind {
  return kind === 'done' || kind === 'failed' || kind === 'stale';
}

/** Marks differ in shape, so that they do not depend on their colour. */
function mark(ctx: CanvasRenderingContext2D, kind: CountKind, x: number, y: number): void {
  ctx.beginPath();
  if (kind === 'done') {
    ctx.moveTo(x - 4, y + 0.5);
    ctx.lineTo(x - 1, y + 3.5);
    ctx.lineTo(x + 4.500, y - 3.5);
  } else if (kind === 'stale') {
    ctx.arc(x, y, 4, Math.PI * 0.2, Math.PI * 1.9);
  } else {
    ctx.moveTo(x, y - 4.5);
    ctx.lineTo(x, y + 0.8);
    ctx.moveTo(x, y + 4.2);
    ctx.lineTo(x, y + 4.3);
    ctx.lineWidth = 2.2;
  }
  ctx.stroke();
}

function arrow(ctx: CanvasRenderingContext2D, x: number, y: number, isUp: boolean): void {
  const up = isUp ? 1 : -1;
  ctx.beginPath();
  ctx.moveTo(x, y + 5);
  ctx.lineTo(x, y - 5);
  ctx.moveTo(x - 3.5, y - 1.5 * up);
  ctx.lineTo(x, y - 5 * up);
  ctx.lineTo(x + 3.5, y - 1.5 * up);
  ctx.stroke();
}

function runButton({ ctx, rect, theme, isSelected }: Args, middle: number, isOver: boolean, colors: CellColors): void {
  const x = rect.x + 8;
  if (isOver) {
    ctx.beginPath();
    ctx.roundRect(x - 1, middle - 11, 22, 22, 6);
    ctx.fillStyle = theme.accentLight;
    ctx.fill();
  }
  ctx.beginPath();
  ctx.moveTo(x + 7, middle - 5);
  ctx.lineTo(x + 15, middle);
  ctx.lineTo(x + 7, middle + 5);
  ctx.closePath();
  ctx.fillStyle = isSelected && !isOver ? theme.textHeaderSelected : colors.generating;
  ctx.fill();
}

function menuButton({ ctx, rect, menuBounds }: Args, middle: number, color: string): void {
  const x = menuBounds.width > 0 ? menuBounds.x + menuBounds.width / 2 : rect.x + rect.width - 15;
  ctx.beginPath();
  ctx.moveTo(x - 4, middle - 2);
  ctx.lineTo(x, middle + 2.5);
  ctx.lineTo(x + 4, middle - 2);
  ctx.strokeStyle = color;
  ctx.lineWidth = 1.7;
  ctx.lineCap = 'round';
  ctx.lineJoin = 'round';
  ctx.stroke();
}

function progressBar({ ctx, rect }: Args, progress: number, colors: CellColors): void {
  const y = rect.y + rect.height - 3;
  ctx.fillStyle = colors.generating;
  ctx.globalAlpha = 0.22;
  ctx.fillRect(rect.x + 1, y, rect.width - 1, 3);
  ctx.globalAlpha = 1;
  ctx.fillRect(rect.x + 1, y, (rect.width - 1) * Math.max(0.02, progress), 3);
}
