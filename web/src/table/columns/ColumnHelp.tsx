import { HelpLink } from '../../ui/HelpLink';
import type { TemplateId } from '../model/templates';

/** What a column of each type does, and the guide that says more. */
const HELP: Partial<Record<TemplateId, [text: string, guide: string]>> = {
  'ai-text': ['A language model answers your prompt for each row. Type @ to put a column into it.', 'ai-columns'],
  'ai-json': ['A language model answers your prompt with the fields you name. Each can become a column.', 'ai-columns'],
  'ai-research': ['A model searches the web, reads pages and answers with its sources.', 'research'],
  'waterfall-email': ['Asks one e-mail finder after another until one finds the address.', 'lookups'],
  'web-scraper': ['Reads a web page for each row and keeps its text.', 'scraping'],
  'verify-email': ['Says whether an e-mail address takes mail. Verifiers are asked in order until one knows.', 'lookups'],
  'find-company': ['Finds name, industry, size and more of a company by its website.', 'lookups'],
  'find-people': ['Finds people who work at a company, as a list.', 'lookups'],
  'fan-out': ['Turns each item of a list, such as people or pages, into a row of another table.', 'fan-out'],
  'http-api': ['Sends a request for each row and keeps the answer. A path picks a part of it.', 'first-table'],
  reference: ['Shows a part of another column. It costs nothing and needs no run.', 'first-table'],
};

/** Short help above the form of a column. */
export function ColumnHelp({ templateId }: { templateId: TemplateId }) {
  const help = HELP[templateId];
  return help ? <HelpLink text={help[0]} guide={help[1]} /> : null;
}
