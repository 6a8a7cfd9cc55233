export interface GraphNode {
  id: string;
  header: string;
  needs: readonly string[];
}

export interface Placed extends GraphNode {
  /** Level from the left; 0 has no dependencies. */
  level: number;
  /** Position within its level, from the top. */
  place: number;
}

/** The dependencies and dependents of a node, in levels. */
export function layout(nodes: readonly GraphNode[], focus: string): Placed[] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const wanted = new Set([...reach(focus, (id) => byId.get(id)?.needs ?? []), ...reach(focus, (id) => users(nodes, id))]);
  const levels = new Map<string, number>();
  const levelOf = (id: string, path: readonly string[] = []): number => {
    const known = levels.get(id);
    if (known !== undefined) return known;
    // The service removes cycles, but one in a draft must not hang the page.
    if (path.includes(id)) return 0;
    const needs = (byId.get(id)?.needs ?? []).filter((other) => wanted.has(other));
    const level = needs.length === 0 ? 0 : 1 + Math.max(...needs.map((other) => levelOf(other, [...path, id])));
    levels.set(id, level);
    return level;
  };
  const counts = new Map<number, number>();
  return nodes
    .filter((node) => wanted.has(node.id))
    .map((node) => {
      const level = levelOf(node.id);
      const place = counts.get(level) ?? 0;
      counts.set(level, place + 1);
      return { ...node, level, place };
    });
}

function users(nodes: readonly GraphNode[], id: string): string[] {
  return nodes.filter((node) => node.needs.includes(id)).map((node) => node.id);
}

function reach(start: string, next: (id: string) => readonly string[]): Set<string> {
  const seen = new Set([start]);
  const open = [start];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    for (const other of next(id)) {
      if (seen.has(other)) continue;
      seen.add(other);
      open.push(other);
    }
  }
  return seen;
}
