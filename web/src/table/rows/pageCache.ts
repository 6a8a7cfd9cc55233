import type { Cell, Row } from '../../api/types';

interface Page {
  rows: Row[];
  /** Still shown, but must be fetched again. */
  stale: boolean;
  usedAt: number;
}

/**
 * LRU cache of the pages of a long list. It holds a bounded number of them and evicts the least recently used. It does
 * no requests.
 */
export class PageCache {
  total: number | undefined;
  private readonly pages = new Map<number, Page>();
  private readonly places = new Map<string, { page: number; offset: number }>();
  private clock = 0;

  constructor(
    readonly pageSize: number,
    readonly pagesMax: number,
  ) {}

  get pageCount(): number {
    return this.pages.size;
  }

  rowAt(index: number): Row | undefined {
    const page = this.pages.get(Math.floor(index / this.pageSize));
    if (!page) return undefined;
    page.usedAt = ++this.clock;
    return page.rows[index % this.pageSize];
  }

  indexOf(rowId: string): number | undefined {
    const place = this.places.get(rowId);
    return place && place.page * this.pageSize + place.offset;
  }

  put(number: number, rows: Row[], total: number | undefined): void {
    this.drop(number);
    if (total !== undefined) this.total = total;
    if (rows.length > 0) {
      this.pages.set(number, { rows, stale: false, usedAt: ++this.clock });
      rows.forEach((row, offset) => this.places.set(row.id, { page: number, offset }));
    }
    this.evict();
  }

  /** The pages for rows `first` to `last` that are missing or stale. */
  missing(first: number, last: number): number[] {
    const end = Math.min(last, this.total === undefined ? last : this.total - 1);
    const wanted: number[] = [];
    for (let number = Math.floor(first / this.pageSize); number * this.pageSize <= end; number++) {
      const page = this.pages.get(number);
      if (!page || page.stale) wanted.push(number);
    }
    return wanted;
  }

  /** Merges cells into cached rows. Returns the indices of the changed rows. */
  patch(rows: readonly { id: string; cells: Record<string, Cell> }[]): number[] {
    const changed: number[] = [];
    for (const { id, cells } of rows) {
      const place = this.places.get(id);
      const page = place && this.pages.get(place.page);
      const row = page?.rows[place?.offset ?? 0];
      if (!place || !page || !row) continue;
      page.rows[place.offset] = { id, cells: { ...row.cells, ...cells } };
      changed.push(place.page * this.pageSize + place.offset);
    }
    return changed;
  }

  /** Marks all rows from this one on as stale. They stay visible until they are fetched again. */
  expire(fromIndex = 0): void {
    const first = Math.floor(fromIndex / this.pageSize);
    for (const [number, page] of this.pages) if (number >= first) page.stale = true;
  }

  /** Sets the row count and drops pages after the end. */
  resize(total: number): void {
    const before = this.total;
    this.total = total;
    if (before === undefined || before === total) return;
    this.expire(Math.min(before, total) - 1);
    for (const number of [...this.pages.keys()]) if (number * this.pageSize >= total) this.drop(number);
  }

  /** Appends a row if its page is cached; otherwise only the row count changes. */
  append(row: Row): void {
    const index = this.total ?? 0;
    const number = Math.floor(index / this.pageSize);
    const offset = index % this.pageSize;
    const page = this.pages.get(number);
    this.total = index + 1;
    if (page && page.rows.length === offset) page.rows.push(row);
    else if (!page && offset === 0) this.pages.set(number, { rows: [row], stale: false, usedAt: ++this.clock });
    else return;
    this.places.set(row.id, { page: number, offset });
  }

  private drop(number: number): void {
    const page = this.pages.get(number);
    if (!page) return;
    for (const row of page.rows) if (this.places.get(row.id)?.page === number) this.places.delete(row.id);
    this.pages.delete(number);
  }

  private evict(): void {
    while (this.pages.size > this.pagesMax) {
      let oldest: number | undefined;
      let usedAt = Infinity;
      for (const [number, page] of this.pages) {
        if (page.usedAt < usedAt) [oldest, usedAt] = [number, page.usedAt];
      }
      if (oldest === undefined) return;
      this.drop(oldest);
    }
  }
}
