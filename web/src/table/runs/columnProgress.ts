import type { Status } from '../../api/types';

/** Tracks how far each column has run. The service tells how many cells are pending, but not how many there were. */
export class ColumnMeter {
  private readonly most = new Map<string, number>();

  /** The share of each running column's cells that are done, from 0 to 1. */
  read(status: Status): ReadonlyMap<string, number> {
    const shares = new Map<string, number>();
    for (const [columnId, { queued, generating }] of Object.entries(status.columns)) {
      const pending = queued + generating;
      const most = Math.max(this.most.get(columnId) ?? 0, pending);
      if (pending === 0) this.most.delete(columnId);
      else {
        this.most.set(columnId, most);
        shares.set(columnId, 1 - pending / most);
      }
    }
    return shares;
  }
}
