import type { Cell, Json, Row } from '../../api/types';
import { PageCache } from './pageCache';
import { isPlain, type RowPage, type RowQuery } from './rowQuery';

/** How many rows tell what is in a column. */
const SAMPLE_ROWS = 20;

/** Rows to redraw: their indices, or all of them. */
export type ChangedRows = readonly number[] | 'all';
type Listener = (damage: ChangedRows) => void;

export interface RowChanges {
  rows: { id: string; cells: Record<string, Cell> }[];
  deleted: string[];
}

interface Options {
  query: RowQuery;
  fetchPage: (page: number, pageSize: number, signal: AbortSignal) => Promise<RowPage>;
  onError: (error: unknown) => void;
  pageSize?: number;
  pagesMax?: number;
  /** Debounce delay before a filtered or sorted list is refetched. */
  refreshDelayMilliseconds?: number;
}

/**
 * Row cache of one list. Fetches the visible pages, updates them by server-sent events, and
 * tells the grid what to redraw.
 */
export class RowStore {
  readonly query: RowQuery;
  private readonly cache: PageCache;
  private readonly listeners = new Set<Listener>();
  private readonly dataListeners = new Set<() => void>();
  private projectTotal: number | undefined;
  private readonly fetching = new Map<number, AbortController>();
  /** Changes received while pages were being fetched. A response may be older than they are. */
  private recent: { at: number; row: Row }[] = [];
  private sequence = 0;
  /** Sequence number of the last change of the row count. */
  private resizedAt = 0;
  private visibleRange: [number, number] = [0, 0];
  private refreshTimer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = true;
  /** Optimistic rows, shown at the end until the service has saved them. */
  private adding: Row[] = [];
  private totalAfterAdding: number | undefined;

  constructor(private readonly options: Options) {
    this.query = options.query;
    this.cache = new PageCache(options.pageSize ?? 100, options.pagesMax ?? 80);
    this.visibleRange = [0, Math.floor(this.cache.pageSize / 2) - 1];
  }

  open(): void {
    this.isClosed = false;
    this.load();
  }

  /** The row count, including rows being added. */
  get total(): number | undefined {
    return this.cache.total === undefined ? undefined : this.cache.total + this.adding.length;
  }

  rowAt = (index: number): Row | undefined => this.cache.rowAt(index) ?? this.adding[index - (this.cache.total ?? 0)];

  /** Values of a column from the first rows. */
  sampleOf(columnId: string): Json[] {
    return Array.from({ length: SAMPLE_ROWS }, (_, index) => this.rowAt(index)?.cells[columnId]?.value ?? null);
  }

  indexOf = (rowId: string): number | undefined => this.cache.indexOf(rowId);

  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Tells of every change to rows of the project, also of rows that are not loaded. */
  subscribeToData(listener: () => void): () => void {
    this.dataListeners.add(listener);
    return () => this.dataListeners.delete(listener);
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.refreshTimer);
    for (const controller of this.fetching.values()) controller.abort();
    this.fetching.clear();
  }

  /** Sets the visible rows. Missing pages are fetched, and requests for other pages are aborted. */
  setVisibleRange(first: number, last: number): void {
    this.visibleRange = [Math.max(0, first), last];
    this.load();
  }

  /** Rows from `first` to before `end`. Fetches those that are not cached. */
  async rowsBetween(first: number, end: number): Promise<Row[]> {
    const { pageSize } = this.cache;
    const rows: Row[] = [];
    for (let page = Math.floor(first / pageSize); page * pageSize < end; page++) {
      const from = Math.max(first, page * pageSize);
      const to = Math.min(end, (page + 1) * pageSize);
      const atHand = Array.from({ length: to - from }, (_, place) => this.rowAt(from + place)).filter((row) => row !== undefined);
      if (atHand.length === to - from) {
        rows.push(...atHand);
      } else {
        const answer = await this.options.fetchPage(page, pageSize, new AbortController().signal);
        rows.push(...answer.rows.slice(from - page * pageSize, to - page * pageSize));
      }
    }
    return rows;
  }

  /** Optimistic update: shows cells before the service has confirmed them. */
  patch(rows: readonly { id: string; cells: Record<string, Cell> }[]): void {
    this.remember(rows);
    for (const { id, cells } of rows) {
      const place = this.adding.findIndex((row) => row.id === id);
      const row = this.adding[place];
      if (row) Object.assign(row.cells, cells);
    }
    const changed = this.cache.patch(rows);
    if (changed.length > 0) this.notify(changed);
  }

  /** Applies row changes from the event stream. */
  apply({ rows, deleted }: RowChanges): void {
    this.notifyData();
    this.patch(rows);
    if (!isPlain(this.query)) return this.refreshSoon();
    const gone = deleted.map((id) => this.cache.indexOf(id)).filter((index) => index !== undefined);
    if (gone.length > 0) {
      this.cache.expire(Math.min(...gone));
      this.load();
    }
  }

  /** Sets the project's row count. Only a list of all rows has this length. */
  resize(total: number): void {
    if (total !== this.projectTotal) this.notifyData();
    this.projectTotal = total;
    if (!isPlain(this.query)) return;
    if (this.adding.length > 0) {
      this.totalAfterAdding = total;
      return;
    }
    if (total === this.cache.total) return;
    this.resizedAt = ++this.sequence;
    this.cache.resize(total);
    this.notify('all');
    this.load();
  }

  /** Optimistic insert: shows rows at the end before the service has saved them. */
  startAdding(rows: Row[]): void {
    this.adding.push(...rows);
    this.notify('all');
  }

  /** Replaces optimistic rows by saved ones with these ids, or removes them if there are none. */
  finishAdding(rows: readonly Row[], ids: readonly string[] | undefined): void {
    const finished = new Set(rows);
    this.adding = this.adding.filter((row) => !finished.has(row));
    if (ids) rows.forEach((row, place) => this.append({ ...row, id: ids[place] ?? row.id }));
    this.notify('all');
    if (this.adding.length === 0 && this.totalAfterAdding !== undefined) {
      const total = this.totalAfterAdding;
      this.totalAfterAdding = undefined;
      this.resize(total);
    }
    if (!isPlain(this.query)) this.refreshSoon();
  }

  private append(row: Row): void {
    if (this.cache.indexOf(row.id) === undefined) this.cache.append(row);
  }

  /** Refetches the visible pages. */
  refresh(): void {
    this.notifyData();
    for (const controller of this.fetching.values()) controller.abort();
    this.fetching.clear();
    this.cache.expire();
    this.load();
  }

  /** Debounced refresh: many changes cause one request. */
  private refreshSoon(): void {
    if (this.refreshTimer !== undefined) return;
    this.refreshTimer = setTimeout(() => {
      this.refreshTimer = undefined;
      this.refresh();
    }, this.options.refreshDelayMilliseconds ?? 800);
  }

  private load(): void {
    if (this.isClosed) return;
    const [first, last] = this.visibleRange;
    const margin = Math.floor(this.cache.pageSize / 2);
    const wanted = this.cache.missing(Math.max(0, first - margin), last + margin);
    for (const [page, controller] of this.fetching) {
      if (wanted.includes(page)) continue;
      controller.abort();
      this.fetching.delete(page);
    }
    for (const page of wanted) if (!this.fetching.has(page)) void this.fetch(page);
  }

  private async fetch(page: number): Promise<void> {
    const controller = new AbortController();
    this.fetching.set(page, controller);
    const startedAt = this.sequence;
    try {
      const answer = await this.options.fetchPage(page, this.cache.pageSize, controller.signal);
      if (controller.signal.aborted) return;
      // The row count has changed since the request, so this page is shown but fetched again.
      const isOld = this.resizedAt > startedAt;
      this.cache.put(page, answer.rows, isOld ? this.cache.total : answer.total);
      if (isOld) this.cache.expire(page * this.cache.pageSize);
      this.cache.patch(this.recent.filter((change) => change.at > startedAt).map((change) => change.row));
      this.notify('all');
    } catch (error) {
      if (!controller.signal.aborted) this.options.onError(error);
    } finally {
      if (this.fetching.get(page) === controller) this.fetching.delete(page);
      if (this.resizedAt > startedAt && !controller.signal.aborted) this.load();
      if (this.fetching.size === 0) this.recent = [];
    }
  }

  private remember(rows: readonly Row[]): void {
    if (this.fetching.size === 0) return;
    const at = ++this.sequence;
    for (const row of rows) this.recent.push({ at, row });
  }

  private notifyData(): void {
    for (const listener of this.dataListeners) listener();
  }

  private notify(damage: ChangedRows): void {
    for (const listener of this.listeners) listener(damage);
  }
}
