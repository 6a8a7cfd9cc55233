import { describe, expect, it } from 'vitest';
import { leftoverText, misspeltText } from '../../src/table/model/misspelt';
import { durationText, startedByText } from '../../src/table/runs/pastRun';

describe('fields that name no column', () => {
  it('are told with the header they resemble', () => {
    expect(misspeltText({ Ctiy: 'City' })).toBe('“Ctiy” looks like “City”.');
    expect(leftoverText({})).toBe('');
    expect(leftoverText({ ignoredKeys: ['a', 'b'], hints: { a: 'A1' } })).toBe(
      'Not saved, because no column has this name: a, b. “a” looks like “A1”.',
    );
    expect(leftoverText({ keptAsInput: ['Ctiy'] })).toBe('Saved in the input column, because no other column has this name: Ctiy.');
  });
});

describe('a run in the list', () => {
  it('says who started it', () => {
    expect(startedByText({ startedBy: { type: 'key', name: 'Nightly' } })).toBe('Key “Nightly”');
    expect(startedByText({ startedBy: { type: 'key' } })).toBe('API key');
    expect(startedByText({ startedBy: { type: 'session', name: 'Ada' } })).toBe('Ada (browser)');
    expect(startedByText({ startedBy: { type: 'autoplay' } })).toBe('Autoplay');
    expect(startedByText({})).toBe('');
  });

  it('says how long it took', () => {
    const startedAt = '2026-11-15T09:30:00.000Z';
    expect(durationText({ startedAt, endedAt: null })).toBe('running');
    expect(durationText({ startedAt, endedAt: '2026-11-15T09:30:00.400Z' })).toBe('< 1 s');
    expect(durationText({ startedAt, endedAt: '2026-11-15T09:31:00.000Z' })).toBe('60 s');
  });
});
