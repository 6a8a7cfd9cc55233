import { Badge, Button, Group, Table as Grid, Text } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import type { ComparedCell, ComparedVariant, Comparison } from '../../api/types';
import { formatDollars, formatMilliseconds } from '../../ui/format';
import { displayOf, drawnLine } from '../display/display';
import { cellText, costText, scoreText, timeText } from './comparison';

interface Props {
  comparison: Comparison;
  /** Names of the rows, by id. */
  names: ReadonlyMap<string, string>;
  onUse: (variant: ComparedVariant) => void;
}

/** Rows and variants as a table, with each variant's score, cost and time below. */
export function CompareTable({ comparison, names, onUse }: Props) {
  const { rows, variants, best, usd, milliseconds } = comparison;
  const hasAnswers = rows.some(({ expected }) => expected !== undefined);
  const results = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Not returned: it is a promise in newer browsers.
    results.current?.scrollIntoView({ block: 'nearest' });
  }, [comparison]);
  if (rows.length === 0) return <Text size="sm">There is no row to compare on. Add rows, or fill in expected answers.</Text>;
  return (
    <>
      <div ref={results} style={{ overflowX: 'auto' }} tabIndex={0} role="region" aria-label="Comparison">
        <Grid fz="sm" verticalSpacing={6} horizontalSpacing={8} withTableBorder withColumnBorders>
          <Grid.Thead>
            <Grid.Tr>
              <Grid.Th>Row</Grid.Th>
              {hasAnswers && <Grid.Th>Expected</Grid.Th>}
              {variants.map(({ name }, place) => (
                <Grid.Th key={name}>
                  <Group gap={6} wrap="nowrap">
                    {name}
                    {place === best && (
                      <Badge size="sm" variant="light">
                        Best
                      </Badge>
                    )}
                  </Group>
                </Grid.Th>
              ))}
            </Grid.Tr>
          </Grid.Thead>
          <Grid.Tbody>
            {rows.map(({ rowId, expected }, place) => (
              <Grid.Tr key={rowId}>
                <Value text={names.get(rowId) || String(place + 1)} />
                {hasAnswers && <Value text={expected === undefined ? '' : drawnLine(displayOf(expected))} />}
                {variants.map(({ name, cells }) => (
                  <Answer key={name} cell={cells[place]} />
                ))}
              </Grid.Tr>
            ))}
          </Grid.Tbody>
          <Grid.Tfoot style={{ borderTop: '2px solid var(--line)' }}>
            {hasAnswers && <Figures label="Score" span={hasAnswers} variants={variants} text={scoreText} />}
            <Figures label="Cost of 1,000 rows" span={hasAnswers} variants={variants} text={costText} />
            <Figures label="Time of a row" span={hasAnswers} variants={variants} text={timeText} />
            <Figures
              label=""
              span={hasAnswers}
              variants={variants}
              text={(variant) => (
                <Button size="compact-sm" variant="light" onClick={() => onUse(variant)} aria-label={`Use this one: ${variant.name}`}>
                  Use this one
                </Button>
              )}
            />
          </Grid.Tfoot>
        </Grid>
      </div>
      <Text size="xs" c="dimmed" mt={6}>
        This comparison took {formatMilliseconds(milliseconds)}
        {usd === undefined ? '.' : ` and cost ${formatDollars(usd)}.`}
      </Text>
    </>
  );
}

function Value({ text }: { text: string }) {
  return (
    <Grid.Td valign="top" maw={260}>
      <Text size="sm" lineClamp={4} style={{ overflowWrap: 'anywhere' }}>
        {text}
      </Text>
    </Grid.Td>
  );
}

/** One answer: right, wrong, or why there is none. */
function Answer({ cell }: { cell: ComparedCell | undefined }) {
  if (!cell) return <Grid.Td />;
  const { score, reason, error, status } = cell;
  return (
    <Grid.Td valign="top" maw={320} miw={140}>
      {score !== undefined && (
        <Badge size="sm" variant="light" color={score === 1 ? 'mill' : score === 0 ? 'red' : 'yellow'} mb={2}>
          {score === 1 ? 'Right' : score === 0 ? 'Wrong' : `${Math.round(score * 100)} %`}
        </Badge>
      )}
      <Text size="sm" lineClamp={6} c={error ? (status === 'skipped' ? 'yellow.9' : 'red.8') : undefined} style={{ overflowWrap: 'anywhere' }}>
        {cellText(cell)}
      </Text>
      {reason && (
        <Text size="xs" c="dimmed" lineClamp={3}>
          {reason}
        </Text>
      )}
    </Grid.Td>
  );
}

interface FiguresProps {
  label: string;
  /** Whether the label stands below two columns. */
  span: boolean;
  variants: readonly ComparedVariant[];
  text: (variant: ComparedVariant) => ReactNode;
}

/** One figure of each variant. */
function Figures({ label, span, variants, text }: FiguresProps) {
  return (
    <Grid.Tr>
      <Grid.Th colSpan={span ? 2 : 1} scope="row" style={{ textAlign: 'left' }}>
        {label}
      </Grid.Th>
      {variants.map((variant) => (
        <Grid.Td key={variant.name}>{text(variant)}</Grid.Td>
      ))}
    </Grid.Tr>
  );
}
