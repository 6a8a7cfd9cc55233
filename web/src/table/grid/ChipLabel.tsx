import { useComputedColorScheme } from '@mantine/core';
import type { Chip } from '../display/shown';
import classes from './Grid.module.css';
import { CELL_COLORS } from './gridTheme';

/** A chip beside text, as the grid draws it. */
export function ChipLabel({ chip: { label, color } }: { chip: Chip }) {
  const colors = CELL_COLORS[useComputedColorScheme('light')];
  const { background, text } = (color === undefined ? undefined : colors.chips[color]) ?? colors.chip;
  return (
    <span className={classes.chip} style={{ background, color: text }}>
      {label}
    </span>
  );
}
