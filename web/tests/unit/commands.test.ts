import { expect, test } from 'vitest';
import { type Command, searchCommands } from '../../src/table/commands/commands';
import { keyNames } from '../../src/table/commands/keyNames';

const command = (label: string, words = ''): Command => ({ label, words, group: 'Run', icon: 'play', run: () => undefined });
const COMMANDS = [
  command('Run all rows'),
  command('Run failed cells', 'retry errors'),
  command('Run column “Found”'),
  command('Rerun all cells', 'again'),
  command('Filter rows'),
  command('Configure column “Found”'),
];

test.each<[string, string[]]>([
  ['', COMMANDS.map(({ label }) => label)],
  ['RERUN', ['Rerun all cells']],
  ['rows', ['Run all rows', 'Filter rows']],
  ['found', ['Run column “Found”', 'Configure column “Found”']],
  ['found conf', ['Configure column “Found”']],
  ['retry', ['Run failed cells']],
  ['all', ['Run all rows', 'Rerun all cells']],
  ['nothing like it', []],
])('“%s” finds %j', (typed, expected) => {
  expect(searchCommands(COMMANDS, typed).map(({ label }) => label)).toEqual(expected);
});

test('what starts with the typed word comes first', () => {
  expect(searchCommands([command('Rerun all'), command('Go to “Run”'), command('Run all')], 'run').map(({ label }) => label)).toEqual([
    'Run all',
    'Go to “Run”',
    'Rerun all',
  ]);
});

test('keys have the names of the keyboard', () => {
  expect(keyNames('Ctrl + Shift + Z', false)).toBe('Ctrl + Shift + Z');
  expect(keyNames('Ctrl + Shift + Z', true)).toBe('⌘ ⇧ Z');
});
