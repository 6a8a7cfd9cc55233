import type { FilterNode } from '../../api/types';

const KEYS = new WeakMap<FilterNode, number>();
let last = 0;

/** React key of a condition, so that typed text stays with it when conditions before it are removed. */
export function keyOf(node: FilterNode): number {
  const known = KEYS.get(node);
  if (known !== undefined) return known;
  last += 1;
  KEYS.set(node, last);
  return last;
}

/** Passes a condition's key on to its changed version. */
export function inheritKey<Node extends FilterNode>(old: FilterNode, node: Node): Node {
  KEYS.set(node, keyOf(old));
  return node;
}
