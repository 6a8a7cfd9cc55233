import classes from './Columns.module.css';
import { type GraphNode, layout, type Placed } from './graph';

const WIDTH = 118;
const HEIGHT = 28;
const GAP_X = 26;
const GAP_Y = 10;

/** Dependency graph: dependencies on the left, dependents on the right. */
export function DependencyGraph({ nodes, focus }: { nodes: readonly GraphNode[]; focus: string }) {
  const placed = layout(nodes, focus);
  const byId = new Map(placed.map((node) => [node.id, node]));
  const levels = Math.max(...placed.map((node) => node.level)) + 1;
  const places = Math.max(...placed.map((node) => node.place)) + 1;
  const width = levels * (WIDTH + GAP_X) - GAP_X + 20;
  const height = places * (HEIGHT + GAP_Y) - GAP_Y + 20;
  const words = placed
    .filter((node) => node.needs.length > 0)
    .map((node) => `${node.header} needs ${node.needs.map((id) => byId.get(id)?.header ?? id).join(', ')}.`);

  return (
    <svg className={classes.graph} viewBox={`0 0 ${width} ${height}`} style={{ maxHeight: Math.min(height, 260) }} role="img" aria-label={words.join(' ')}>
      {placed.flatMap((node) =>
        node.needs.map((id) => {
          const from = byId.get(id);
          return from && <path key={`${id}-${node.id}`} d={edge(from, node)} fill="none" stroke="currentColor" opacity={0.35} strokeWidth={1.4} />;
        }),
      )}
      {placed.map((node) => {
        const isFocus = node.id === focus;
        return (
          <g key={node.id} transform={`translate(${x(node)} ${y(node)})`}>
            <title>{node.header}</title>
            <rect
              width={WIDTH}
              height={HEIGHT}
              rx={7}
              fill={isFocus ? 'var(--mantine-color-mill-7)' : 'var(--surface-raised)'}
              stroke={isFocus ? 'none' : 'var(--line)'}
            />
            <text x={10} y={HEIGHT / 2 + 4} fontSize={11.5} fontWeight={isFocus ? 650 : 500} fill={isFocus ? '#fff' : 'currentColor'}>
              {node.header.length > 17 ? `${node.header.slice(0, 16)}…` : node.header}
            </text>
          </g>
        );
      })}
    </svg>
  );
}

const x = (node: Placed) => 10 + node.level * (WIDTH + GAP_X);
const y = (node: Placed) => 10 + node.place * (HEIGHT + GAP_Y);

function edge(from: Placed, to: Placed): string {
  const startX = x(from) + WIDTH;
  const [startY, endX, endY] = [y(from) + HEIGHT / 2, x(to), y(to) + HEIGHT / 2];
  const middle = (startX + endX) / 2;
  return `M${startX} ${startY}C${middle} ${startY} ${middle} ${endY} ${endX} ${endY}`;
}
