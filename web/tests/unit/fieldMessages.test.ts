import { expect, test } from 'vitest';
import type { Provider } from '../../src/api/types';
import { ApiError, fieldErrors, errorMessage } from '../../src/api/error';
import { missingFields, newDraft } from '../../src/table/columns/draft';
import { mappingPath, providersPath } from '../../src/table/model/lookups';

const MAPPING = mappingPath('waterfallEmail');
const PROVIDERS = providersPath('waterfallEmail');

const refused = (...details: [string, string][]) =>
  new ApiError('invalid', 400, 'invalid_request', details.map(([path, message]) => ({ path, message })));

test.each<[ApiError, string]>([
  [refused(['apiConfig.timeoutSeconds', 'must be at most 300']), 'Timeout must be at most 300.'],
  [refused(['column.aiConfig.model', 'is too long'], ['header', 'is required']), 'Model is too long. Header is required.'],
  [
    refused(['apiConfig.successStatuses[0]', 'must match the pattern ^[1-5]'], ['apiConfig.successStatuses[1]', 'must match the pattern ^[1-5]']),
    'Success statuses must be numbers such as 200, or ranges such as 200..299.',
  ],
  [
    refused(['filters[0].value', 'This pattern is not a regular expression. To find a character such as ( or * itself, write a backslash before it. (unclosed group)']),
    'Filter: This pattern is not a regular expression. To find a character such as ( or * itself, write a backslash before it. (unclosed group).',
  ],
  [
    refused(['name', 'must contain only letters, digits, _ and -, such as CRM_TOKEN (pattern ^[A-Za-z0-9_-]+$)']),
    'Name must contain only letters, digits, _ and -, such as CRM_TOKEN.',
  ],
  [refused(['cells[0].rowId', 'is not a row of this project']), 'This row was deleted in the meantime.'],
  [refused(['taskConfig.webScraper.selectors.include[0]', 'is too long']), 'Only these parts is too long.'],
  [refused(['', 'the file is empty']), 'The file is empty.'],
  [new ApiError('Bearer token is required', 401, 'unauthenticated', []), 'You are signed out. Sign in, then try again.'],
  [new ApiError('The file exceeds the limit of 5 bytes (importBytesMax)', 413, 'x', []), 'The file exceeds the limit of 5 bytes'],
  [new ApiError('Project not found', 404, 'not_found', []), 'Project not found'],
])('%# is told in the page’s words', (error, words) => {
  expect(errorMessage(error)).toBe(words);
});

test('offences are put at their fields', () => {
  expect(fieldErrors(refused(['column.apiConfig.url', 'must be an address']))).toEqual({ 'apiConfig.url': 'Must be an address.' });
});

test.each<[Parameters<typeof newDraft>[0], string[]]>([
  ['manual', []],
  ['ai-text', ['aiConfig.prompt']],
  ['http-api', ['apiConfig.url']],
  ['web-scraper', ['taskConfig.webScraper.url']],
  ['reference', ['referenceConfig.columnId', 'referenceConfig.path']],
  ['waterfall-email', [`${MAPPING}.full_name`, `${MAPPING}.domain`, PROVIDERS]],
  ['verify-email', ['taskConfig.verifyEmail.inputMapping.email', 'taskConfig.verifyEmail.providers']],
  ['find-company', ['taskConfig.findCompany.inputMapping.domain', 'taskConfig.findCompany.providers']],
  ['find-people', ['taskConfig.findPeople.inputMapping.domain', 'taskConfig.findPeople.providers']],
  ['fan-out', ['list', 'targetProjectId', 'mapping', 'matchOn'].map((field) => `taskConfig.fanOut.${field}`)],
])('a new %s column lacks %j', (templateId, fields) => {
  expect(Object.keys(missingFields(newDraft(templateId, 'x', [])))).toEqual(fields);
});

test('a waterfall lacks nothing once it knows whom to find, where, and by whom', () => {
  const draft = newDraft('waterfall-email', 'x', []);
  const lacks = (inputMapping: Record<string, string>, enabled = true) => {
    const providers = [{ id: 'a', taskType: 'pattern', enabled, order: 0 }];
    return Object.keys(missingFields({ ...draft, waterfall: { providers, inputMapping } }));
  };
  expect(lacks({ full_name: '@{col_a}', domain: '@{col_b}' })).toEqual([]);
  expect(lacks({ first_name: 'a', last_name: 'b', domain: 'c' })).toEqual([]);
  expect(lacks({ first_name: 'a', last_name: ' ', domain: 'c' })).toEqual([`${MAPPING}.last_name`]);
  expect(lacks({ last_name: 'b' })).toEqual([`${MAPPING}.first_name`, `${MAPPING}.domain`]);
  expect(lacks({ full_name: 'a', domain: 'c' }, false)).toEqual([PROVIDERS]);
});

test('a new verification uses what costs nothing first, then what has a key', () => {
  const provider = (id: string, configured: boolean) => ({ id, kind: 'verifier', tasks: ['verifyEmail'], label: id, configured, source: null }) as Provider;
  const providers = [provider('hunter', false), provider('zerobounce', true), provider('domaincheck', true)];
  const { waterfall } = newDraft('verify-email', 'x', [...providers, { ...provider('wiza', true), tasks: ['waterfallEmail'] }]);
  expect(waterfall?.providers.map(({ taskType, enabled, order }) => [taskType, enabled, order])).toEqual([
    ['domaincheck', true, 0],
    ['zerobounce', true, 1],
    ['hunter', false, 2],
  ]);
  expect(waterfall?.inputMapping).toEqual({ email: '' });
});
