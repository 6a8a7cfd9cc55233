import type { BaseDrawArgs } from '@glideapps/glide-data-grid';
import { SHORT_ROW } from './canvasText';
import type { Shown } from './thumbnails';

type Args = Pick<BaseDrawArgs, 'ctx' | 'rect' | 'theme'>;

const MARGIN = 4;
const GAP = 8;
/** A box is this much wider than high, because most logos are. */
const SHAPE = 1.4;
const HEIGHT_MAX = 132;
/** An image takes no more than this part of its cell. */
const SHARE_MAX = 0.5;
/** Below this there is no room for a text beside the image. */
export const TEXT_WIDTH_MIN = 48;

/** The box of an image at the left of a cell. All cells of a column have the same, whatever the image's shape. */
export function thumbnailBox({ rect, theme }: Pick<Args, 'rect' | 'theme'>) {
  const room = rect.width - theme.cellHorizontalPadding * 2;
  const height = Math.max(0, Math.min(rect.height - MARGIN * 2, HEIGHT_MAX));
  const widthMax = room * SHARE_MAX < TEXT_WIDTH_MIN ? room : room * SHARE_MAX;
  const width = Math.max(0, Math.min(height * SHAPE, widthMax));
  const y = rect.height > SHORT_ROW ? rect.y + MARGIN : rect.y + (rect.height - height) / 2;
  return { x: rect.x + theme.cellHorizontalPadding, y, width, height };
}

/** Where and how large an image is drawn: whole, in the middle of its box, and no larger than it is. */
export function fitted(box: { x: number; y: number; width: number; height: number }, width: number, height: number) {
  const scale = Math.min(box.width / width, box.height / height, 1);
  const [w, h] = [width * scale, height * scale];
  return { x: box.x + (box.width - w) / 2, y: box.y + (box.height - h) / 2, width: w, height: h };
}

/** Draws an image, or its place while it is on its way. Returns the width it takes; nothing if it cannot be shown. */
export function drawThumbnail(args: Args, shown: Shown): number {
  if (shown === 'failed') return 0;
  const { ctx, theme } = args;
  const box = thumbnailBox(args);
  if (box.width < 1 || box.height < 1) return 0;
  ctx.save();
  ctx.beginPath();
  if (shown === 'loading') {
    ctx.roundRect(box.x, box.y, box.width, box.height, 4);
    ctx.fillStyle = theme.bgCellMedium;
    ctx.fill();
  } else {
    const place = fitted(box, shown.width, shown.height);
    ctx.roundRect(place.x, place.y, place.width, place.height, 4);
    ctx.clip();
    ctx.imageSmoothingQuality = 'high';
    ctx.drawImage(shown, place.x, place.y, place.width, place.height);
  }
  ctx.restore();
  return box.width + GAP;
}
