import type { FilterNode } from '../../api/types';

const KEYS = new WeakMap<FilterNode, number>();
let last = 0;

/** A condition's own key: what is typed in it stays with it when others before it go. */
export function keyOf(node: FilterNode): number {
  const known = KEYS.get(node);
  if (known !== undefined) return known;
  last += 1;
  KEYS.set(node, last);
  return last;
}

/** A changed condition is still the same one. */
export function inheritKey<Node extends FilterNode>(old: FilterNode, node: Node): Node {
  KEYS.set(node, keyOf(old));
  return node;
}
