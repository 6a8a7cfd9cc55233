import type { Theme } from '@glideapps/glide-data-grid';
import { TYPEFACE } from '../../ui/typeface';

export interface ChipColor {
  background: string;
  text: string;
}

export interface CellColors {
  queued: string;
  generating: string;
  error: string;
  stale: string;
  manual: string;
  quiet: string;
  /** A filled star of a rating. */
  star: string;
  /** A neutral chip, and the chips of choices. */
  chip: ChipColor;
  chips: readonly ChipColor[];
}

export type Scheme = 'light' | 'dark';

export const CELL_COLORS: Record<Scheme, CellColors> = {
  light: {
    queued: '#7b8494',
    generating: '#0d7a68',
    error: '#c92a2a',
    stale: '#b35c00',
    manual: '#4263eb',
    star: '#d98e00',
    quiet: '#6b7480',
    chip: { background: '#eff0f1', text: '#353c46' },
    chips: [
      { background: '#e3f4ef', text: '#0b5f51' },
      { background: '#e6eefb', text: '#274f92' },
      { background: '#fdf0dc', text: '#7a4a00' },
      { background: '#fbe8ea', text: '#93283a' },
      { background: '#f0e9fa', text: '#5c3a96' },
      { background: '#e5f3e4', text: '#2c5e28' },
      { background: '#fbe9f2', text: '#8a2a63' },
      { background: '#e4f1f6', text: '#1d5a73' },
    ],
  },
  dark: {
    queued: '#98a0ad',
    generating: '#4fb89f',
    error: '#ff8787',
    stale: '#ffb347',
    manual: '#91a7ff',
    star: '#f0b429',
    quiet: '#98a0ad',
    chip: { background: '#272d37', text: '#d5d9e0' },
    chips: [
      { background: '#16332e', text: '#8fd9c6' },
      { background: '#1c2d47', text: '#a9c7f5' },
      { background: '#3a2c14', text: '#f2cb8a' },
      { background: '#3d2026', text: '#f3aeb8' },
      { background: '#2f2545', text: '#cfb8f2' },
      { background: '#1e3320', text: '#a6d6a2' },
      { background: '#3b2033', text: '#efaed3' },
      { background: '#17313c', text: '#9bd0e5' },
    ],
  },
};

const COMMON: Partial<Theme> = {
  fontFamily: TYPEFACE,
  baseFontStyle: '13px',
  headerFontStyle: '600 13px',
  markerFontStyle: '11px',
  editorFontSize: '13px',
  cellHorizontalPadding: 10,
  cellVerticalPadding: 4,
  headerIconSize: 18,
  lineHeight: 1.45,
};

export const GRID_THEMES: Record<Scheme, Partial<Theme>> = {
  light: {
    ...COMMON,
    accentColor: '#0d7a68',
    accentFg: '#ffffff',
    accentLight: '#e8f8f4',
    textDark: '#1c2127',
    textMedium: '#4a525e',
    textLight: '#6b7480',
    textHeader: '#353c46',
    textHeaderSelected: '#ffffff',
    fgIconHeader: '#ffffff',
    bgIconHeader: '#5b6470',
    bgCell: '#ffffff',
    bgCellMedium: '#fafaf9',
    bgHeader: '#f7f7f5',
    bgHeaderHovered: '#eeeeeb',
    bgHeaderHasFocus: '#e9edeb',
    borderColor: '#e8e9ea',
    horizontalBorderColor: '#eeeff0',
    linkColor: '#0d7a68',
    bgSearchResult: '#fff3bf',
  },
  dark: {
    ...COMMON,
    accentColor: '#2f9e86',
    accentFg: '#0f1217',
    accentLight: '#16332e',
    textDark: '#e3e6ea',
    textMedium: '#b6bcc7',
    textLight: '#98a0ad',
    textHeader: '#c9ced6',
    textHeaderSelected: '#0f1217',
    fgIconHeader: '#1b2028',
    bgIconHeader: '#98a0ad',
    bgCell: '#161a21',
    bgCellMedium: '#1b2028',
    bgHeader: '#1b2028',
    bgHeaderHovered: '#272d37',
    bgHeaderHasFocus: '#243330',
    borderColor: '#2a303a',
    horizontalBorderColor: '#232932',
    linkColor: '#4fb89f',
    bgSearchResult: '#423c1b',
  },
};
