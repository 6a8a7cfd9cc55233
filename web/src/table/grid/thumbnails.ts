import { CellSet, type ImageWindowLoader, type Rectangle } from '@glideapps/glide-data-grid';

/**
 * Requests at the same time: half of the six that a browser makes to one server, so that slow images hold nobody up. The others
 * wait, the newest first: that is where somebody looks.
 */
const AT_ONCE_MAX = 3;
/** Images kept in memory after they scrolled away. */
const KEPT_MAX = 300;
/** An image whose server was busy is asked for again after this time, while it is in sight. */
const RETRY_MILLISECONDS = 3_000;
const RETRIES_MAX = 3;
/** Cells that show the same image, as far as they are known. */
const CELLS_MAX = 100;
/** Arrived images are drawn together. */
const DRAW_MILLISECONDS = 30;

/** What is drawn in place of an image that is on its way, or cannot be shown. */
export type Shown = ImageBitmap | 'loading' | 'failed';

/** Thrown if the service says to come back later. */
export class BusyError extends Error {}

interface Entry {
  shown: Shown;
  /** The cells that show it. */
  cells: Map<string, [number, number]>;
  loading?: AbortController;
  retries: number;
}

/**
 * Loads the thumbnails of cells in sight. What scrolls away is cancelled if it is still on its way, and kept for a while if
 * it has arrived.
 */
export class Thumbnails implements ImageWindowLoader {
  private readonly entries = new Map<string, Entry>();
  /** What waits for its turn, the newest last. */
  private waiting: string[] = [];
  private loadingCount = 0;
  private region: Rectangle = { x: 0, y: 0, width: Number.MAX_SAFE_INTEGER, height: Number.MAX_SAFE_INTEGER };
  private frozen = 0;
  private redraw: (cells: CellSet) => void = () => {};
  private arrived: [number, number][] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;

  constructor(private readonly load: (url: string, signal: AbortSignal) => Promise<ImageBitmap>) {}

  setCallback(redraw: (cells: CellSet) => void): void {
    this.redraw = redraw;
  }

  setWindow(region: Rectangle, freezeColumns: number): void {
    const { x, y, width, height } = this.region;
    if (region.x === x && region.y === y && region.width === width && region.height === height && freezeColumns === this.frozen) return;
    this.region = region;
    this.frozen = freezeColumns;
    for (const [url, entry] of this.entries) {
      if (entry.shown === 'loading' && !this.isInSight(entry)) this.drop(url, entry);
    }
  }

  loadOrGetImage(url: string, column: number, row: number): ImageBitmap | undefined {
    const shown = this.show(url, column, row);
    return typeof shown === 'string' ? undefined : shown;
  }

  /** The thumbnail at this address, for this cell. It is loaded if it is not here yet. */
  show(url: string, column: number, row: number): Shown {
    let entry = this.entries.get(url);
    if (!entry) {
      entry = { shown: 'loading', cells: new Map(), retries: 0 };
      this.waiting.push(url);
      // After the frame, which knows by then what is in sight.
      queueMicrotask(() => this.next());
    }
    // The least recently drawn are first.
    this.entries.delete(url);
    this.entries.set(url, entry);
    // Rows move. Where it was drawn long ago, it is not any more.
    if (entry.cells.size >= CELLS_MAX) entry.cells.clear();
    entry.cells.set(`${column}:${row}`, [column, row]);
    return entry.shown;
  }

  /** Starts again after `close`, which React calls twice while it is being tested. */
  open(): void {
    this.isClosed = false;
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const [url, entry] of this.entries) this.drop(url, entry);
    this.waiting = [];
  }

  private isInSight({ cells }: Entry): boolean {
    const { x, y, width, height } = this.region;
    for (const [column, row] of cells.values()) {
      const isColumn = column < this.frozen || (column >= x && column <= x + width);
      if (isColumn && row >= y && row <= y + height) return true;
    }
    return false;
  }

  private drop(url: string, entry: Entry): void {
    entry.loading?.abort();
    if (typeof entry.shown !== 'string') entry.shown.close();
    this.entries.delete(url);
    this.waiting = this.waiting.filter((other) => other !== url);
  }

  private next(): void {
    while (!this.isClosed && this.loadingCount < AT_ONCE_MAX) {
      const url = this.waiting.pop();
      if (url === undefined) return;
      const entry = this.entries.get(url);
      if (entry) void this.fetch(url, entry);
    }
  }

  private async fetch(url: string, entry: Entry): Promise<void> {
    this.loadingCount += 1;
    const loading = new AbortController();
    entry.loading = loading;
    let shown: Shown;
    try {
      shown = await this.load(url, loading.signal);
    } catch (error) {
      shown = error instanceof BusyError && entry.retries < RETRIES_MAX ? 'loading' : 'failed';
    }
    this.loadingCount -= 1;
    delete entry.loading;
    if (loading.signal.aborted) {
      if (typeof shown !== 'string') shown.close();
    } else if (shown === 'loading') {
      this.retry(url, entry);
    } else {
      entry.shown = shown;
      this.tell(entry);
      this.forgetOld();
    }
    this.next();
  }

  private retry(url: string, entry: Entry): void {
    entry.retries += 1;
    setTimeout(() => {
      if (this.entries.get(url) !== entry) return;
      this.waiting.push(url);
      this.next();
    }, RETRY_MILLISECONDS);
  }

  private tell({ cells }: Entry): void {
    this.arrived.push(...cells.values());
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.redraw(new CellSet(this.arrived));
      this.arrived = [];
    }, DRAW_MILLISECONDS);
  }

  private forgetOld(): void {
    for (const [url, entry] of this.entries) {
      if (this.entries.size <= KEPT_MAX) return;
      if (entry.shown !== 'loading' && !this.isInSight(entry)) this.drop(url, entry);
    }
  }
}
