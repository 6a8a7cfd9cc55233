import { createTheme, type MantineColorsTuple } from '@mantine/core';
import { TYPEFACE } from '../ui/typeface';

const mill: MantineColorsTuple = [
  '#e8f8f4',
  '#d3ede6',
  '#a6dbce',
  '#76c8b4',
  '#4fb89f',
  '#36ae91',
  '#1f9d80',
  '#0d7a68',
  '#08695a',
  '#03574a',
];

/** Mantine's colour with a shade dark enough for white text. */
const red: MantineColorsTuple = [
  '#fff5f5',
  '#ffe3e3',
  '#ffc9c9',
  '#ffa8a8',
  '#ff8787',
  '#ff6b6b',
  '#fa5252',
  '#d92f2f',
  '#c92a2a',
  '#b02525',
];

/** Mantine's colour with a last shade that is readable on the first. */
const yellow: MantineColorsTuple = [
  '#fff9db',
  '#fff3bf',
  '#ffec99',
  '#ffe066',
  '#ffd43b',
  '#fcc419',
  '#fab005',
  '#f59f00',
  '#f08c00',
  '#855700',
];

/** Blue-grey darks: calmer on large surfaces than Mantine's neutral ones. */
const dark: MantineColorsTuple = [
  '#d5d9e0',
  '#b6bcc7',
  '#98a0ad',
  '#6c7482',
  '#434b58',
  '#333a45',
  '#272d37',
  '#1b2028',
  '#161a21',
  '#0f1217',
];

export const theme = createTheme({
  colors: { mill, red, yellow, dark },
  primaryColor: 'mill',
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: 'md',
  cursorType: 'pointer',
  respectReducedMotion: true,
  fontFamily: TYPEFACE,
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  headings: { fontWeight: '650' },
  components: {
    Alert: { styles: { label: { color: 'var(--mantine-color-text)' } } },
    Button: { defaultProps: { fw: 550 } },
    Badge: { defaultProps: { tt: 'none', fw: 600, miw: 'max-content' } },
    Table: { defaultProps: { borderColor: 'var(--line)' } },
    Tooltip: { defaultProps: { openDelay: 400, withArrow: true } },
    Modal: {
      // On a small screen a long form needs the room.
      defaultProps: { centered: true, yOffset: 16, overlayProps: { backgroundOpacity: 0.35 } },
      styles: { title: { fontWeight: 620, fontSize: '1.05rem' } },
    },
    Notification: {
      defaultProps: { closeButtonProps: { 'aria-label': 'Close' } },
      styles: { description: { color: 'var(--mantine-color-dimmed)' } },
    },
    // The grid stops mouse events, so popovers must close on pointer events.
    // The placeholder would be a focusable element without a role, which a menu must not contain.
    Menu: { defaultProps: { shadow: 'md', withinPortal: true, clickOutsideEvents: ['pointerdown', 'keydown'], withInitialFocusPlaceholder: false } },
    Popover: { defaultProps: { clickOutsideEvents: ['pointerdown'] } },
  },
});
