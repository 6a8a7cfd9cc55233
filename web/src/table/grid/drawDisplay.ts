import type { BaseDrawArgs } from '@glideapps/glide-data-grid';
import { type Chip, type Display, drawnLine } from '../display/display';
import { bias, firstLine, fit, LINE_HEIGHT, linesIn, wrap } from './canvasText';
import type { CellColors } from './gridTheme';

type Args = Pick<BaseDrawArgs, 'ctx' | 'rect' | 'theme'>;

/** Longer texts are cut for drawing. */
const LETTERS_A_LINE_MAX = 400;

/** Draws a value. `right` is the width that marks at the right edge take. */
export function drawDisplay(args: Args, display: Display, colors: CellColors, right: number): void {
  switch (display.kind) {
    case 'number':
      return drawNumber(args, display.text, right);
    case 'checkbox':
      return drawCheckbox(args, display.isChecked, colors);
    case 'rating':
      return drawRating(args, display, colors);
    case 'chips':
      return drawChips(args, display.chips, colors, right);
    case 'fields':
      return drawFields(args, display.title, display.details, colors, right);
    case 'link':
      return drawText(args, drawnLine(display), args.theme.linkColor, right);
    default:
      return drawText(args, display.text, args.theme.textDark, right);
  }
}

/** Draws text in as many lines as the row has. */
export function drawText({ ctx, rect, theme }: Args, text: string, color: string, right = 0, left = 0): void {
  if (!text) return;
  const linesMax = linesIn(rect.height);
  const x = rect.x + theme.cellHorizontalPadding + left;
  const width = rect.width - theme.cellHorizontalPadding * 2 - left - right;
  const shown = text.length > LETTERS_A_LINE_MAX * linesMax ? text.slice(0, LETTERS_A_LINE_MAX * linesMax) : text;
  ctx.fillStyle = color;
  wrap(ctx, shown, width, linesMax).forEach((line, place) => {
    ctx.fillText(line, x, firstLine({ rect }) + place * LINE_HEIGHT + bias(theme, ctx));
  });
}

function drawNumber({ ctx, rect, theme }: Args, text: string, right: number): void {
  const width = rect.width - theme.cellHorizontalPadding * 2 - right;
  ctx.fillStyle = theme.textDark;
  ctx.textAlign = 'right';
  ctx.fillText(fit(ctx, text, width), rect.x + rect.width - theme.cellHorizontalPadding - right, firstLine({ rect }) + bias(theme, ctx));
  ctx.textAlign = 'left';
}

/** Side of a checkbox, and the width from the cell's left edge that a click on it may hit. */
const BOX = 15;
export const CHECKBOX_WIDTH = BOX + 20;

function drawCheckbox({ ctx, rect, theme }: Args, isChecked: boolean, colors: CellColors): void {
  const x = rect.x + theme.cellHorizontalPadding;
  const y = firstLine({ rect }) - BOX / 2;
  ctx.beginPath();
  ctx.roundRect(x + 0.5, y + 0.5, BOX - 1, BOX - 1, 4);
  ctx.lineWidth = 1.4;
  if (!isChecked) {
    ctx.strokeStyle = colors.queued;
    return ctx.stroke();
  }
  ctx.fillStyle = theme.accentColor;
  ctx.fill();
  ctx.beginPath();
  ctx.moveTo(x + 3.8, y + 7.8);
  ctx.lineTo(x + 6.4, y + 10.4);
  ctx.lineTo(x + 11.2, y + 4.8);
  ctx.strokeStyle = theme.accentFg;
  ctx.lineWidth = 1.8;
  ctx.lineCap = 'round';
  ctx.stroke();
}

/** A star on a 24 by 24 grid. */
const STAR = 'M12 3.500l2.600 5.400l5.900.8l-4.300 4.100l1 5.900L12 16.900l-5.200 2.800l1-5.900L3.500 9.700l5.900-.8z';
const STAR_WIDTH = 17;

/** Draws stars, as many filled as the rating has. If they do not fit, the rating in words. */
function drawRating({ ctx, rect, theme }: Args, { rating, max, text }: { rating: number; max: number; text: string }, colors: CellColors): void {
  if (max * STAR_WIDTH > rect.width - theme.cellHorizontalPadding * 2) return drawText({ ctx, rect, theme }, text, theme.textDark);
  const star = new Path2D(STAR);
  for (let place = 0; place < max; place += 1) {
    ctx.save();
    ctx.translate(rect.x + theme.cellHorizontalPadding + place * STAR_WIDTH, firstLine({ rect }) - 8);
    ctx.scale(0.66, 0.66);
    if (place < rating) {
      ctx.fillStyle = colors.star;
      ctx.fill(star);
    } else {
      ctx.strokeStyle = colors.queued;
      ctx.lineWidth = 1.6;
      ctx.stroke(star);
    }
    ctx.restore();
  }
}

const CHIP = { height: 20, padding: 7, gap: 4, lineHeight: 24, widthMax: 180, moreWidth: 34 };

/** Draws chips in as many lines as the row has, and how many more there are. */
function drawChips(args: Args, chips: readonly Chip[], colors: CellColors, right: number): void {
  const { ctx, rect, theme } = args;
  const start = rect.x + theme.cellHorizontalPadding;
  const end = rect.x + rect.width - theme.cellHorizontalPadding - right;
  const linesMax = Math.max(1, Math.floor((rect.height - 6) / CHIP.lineHeight));
  ctx.font = `500 12px ${theme.fontFamily}`;
  let [x, line] = [start, 0];
  for (const [place, chip] of chips.entries()) {
    const isLast = place === chips.length - 1;
    const room = (line === linesMax - 1 && !isLast ? end - CHIP.moreWidth : end) - start;
    const width = Math.min(ctx.measureText(chip.label).width + CHIP.padding * 2, CHIP.widthMax, room);
    if (x > start && x + width > start + room) {
      if (line === linesMax - 1) {
        drawMore(args, chips.length - place, x, firstLine({ rect }) + line * CHIP.lineHeight, colors);
        break;
      }
      [x, line] = [start, line + 1];
    }
    drawChip(args, chip, { x, y: firstLine({ rect }) + line * CHIP.lineHeight, width }, colors);
    x += width + CHIP.gap;
  }
  ctx.font = theme.baseFontFull;
}

function drawChip({ ctx, theme }: Args, { label, color }: Chip, { x, y, width }: { x: number; y: number; width: number }, colors: CellColors): void {
  if (width < CHIP.padding * 2) return;
  const chip = color === undefined ? colors.chip : (colors.chips[color] ?? colors.chip);
  ctx.beginPath();
  ctx.roundRect(x, y - CHIP.height / 2, width, CHIP.height, 6);
  ctx.fillStyle = chip.background;
  ctx.fill();
  ctx.fillStyle = chip.text;
  ctx.fillText(fit(ctx, label, width - CHIP.padding * 2 + 1), x + CHIP.padding, y + bias(theme, ctx));
}

function drawMore({ ctx, theme }: Args, count: number, x: number, y: number, colors: CellColors): void {
  ctx.fillStyle = colors.quiet;
  ctx.fillText(`+${count}`, x + 2, y + bias(theme, ctx));
}

/** Draws what an object is about, and then its other fields: beside it in a short row, below it in a tall one. */
function drawFields(args: Args, title: string, details: string, colors: CellColors, right: number): void {
  const { ctx, rect, theme } = args;
  if (!title) return drawText(args, details, colors.quiet, right);
  if (linesIn(rect.height) > 1) {
    drawText({ ...args, rect: { ...rect, height: 33 } }, title, theme.textDark, right);
    const below = { ...rect, y: rect.y + LINE_HEIGHT, height: rect.height - LINE_HEIGHT };
    return drawText({ ...args, rect: below }, details, colors.quiet, right);
  }
  const room = rect.width - theme.cellHorizontalPadding * 2 - right;
  const width = Math.min(ctx.measureText(title).width, room);
  drawText(args, title, theme.textDark, right);
  if (room - width > 40) drawText(args, details, colors.quiet, right, width + 10);
}
