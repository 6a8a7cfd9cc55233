import type { components } from '../../generated/schema';

export type ImportJob = components['schemas']['ImportJob'];

export function isOpen({ status }: ImportJob): boolean {
  return status === 'queued' || status === 'running';
}
