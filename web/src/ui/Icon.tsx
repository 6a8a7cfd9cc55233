import type { CSSProperties } from 'react';
import { type IconName, ICON_PATHS } from './iconPaths';

export type { IconName };

interface Props {
  name: IconName;
  size?: number;
  label?: string;
  style?: CSSProperties;
}

export function Icon({ name, size = 18, label, style }: Props) {
  const filled = name === 'play' || name === 'stop' || name === 'starred';
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill={filled ? 'currentColor' : 'none'}
      stroke="currentColor"
      strokeWidth={name === 'dots' || name === 'grip' ? 2.6 : 1.8}
      strokeLinecap="round"
      strokeLinejoin="round"
      role={label ? 'img' : undefined}
      aria-label={label}
      aria-hidden={label ? undefined : true}
      style={{ flexShrink: 0, ...style }}
    >
      <path d={ICON_PATHS[name]} />
    </svg>
  );
}
