import { Checkbox, Group, NumberInput, Select, Stack, Switch, TagsInput } from '@mantine/core';
import { useFieldErrors } from '../../ui/fieldErrors';
import { TemplateField } from '../template/TemplateField';
import { CrawlFields } from './CrawlFields';
import type { SectionProps } from './sectionProps';

/** Settings of a web scraper column. */
export function ScraperSection({ draft, columns, onChange }: SectionProps) {
  const errors = useFieldErrors();
  const scraper = draft.scraper;
  if (!scraper) return null;
  const change = (part: Partial<typeof scraper>) => onChange({ scraper: { ...scraper, ...part } });
  return (
    <Stack gap="md">
      <TemplateField
        label="Page URL"
        description="Type @ to insert a column’s value."
        placeholder="@Website"
        isSingleLine
        value={scraper.url}
        error={errors['taskConfig.webScraper.url']}
        columns={columns}
        onChange={(url) => change({ url })}
      />
      <Checkbox.Group
        label="Formats"
        value={scraper.formats}
        error={errors['taskConfig.webScraper.formats']}
        onChange={(formats) => change({ formats: formats as typeof scraper.formats })}
      >
        <Group mt={6}>
          <Checkbox value="markdown" label="Text (Markdown)" />
          <Checkbox value="text" label="Plain text" />
          <Checkbox value="html" label="HTML" />
          <Checkbox value="links" label="Links" />
          <Checkbox value="images" label="Images" />
          <Checkbox value="contacts" label="Contacts" />
          <Checkbox value="jsonld" label="Structured data (JSON-LD)" />
          <Checkbox value="screenshot" label="Screenshot" />
        </Group>
      </Checkbox.Group>
      <ContentFields scraper={scraper} errors={errors} change={change} />
      <Select
        label="Browser"
        description="Runs the page’s JavaScript. It needs a server with a browser."
        data={RENDER_MODES}
        allowDeselect={false}
        value={scraper.render ?? 'auto'}
        error={errors['taskConfig.webScraper.render']}
        onChange={(render) => change({ render: (render ?? 'auto') as Scraper['render'] })}
      />
      <CrawlFields crawl={scraper.crawl} errors={errors} onChange={(crawl) => change({ crawl })} />
      <Switch
        label="Respect robots.txt"
        description="Skip pages that disallow bots, and keep to the delay that the site asks for."
        checked={scraper.respectRobots}
        onChange={(event) => change({ respectRobots: event.currentTarget.checked })}
      />
      <NumberInput
        label="Timeout"
        description="For one page."
        suffix=" seconds"
        min={1}
        max={300}
        value={scraper.timeoutSeconds}
        error={errors['taskConfig.webScraper.timeoutSeconds']}
        onChange={(value) => change({ timeoutSeconds: Number(value) || 30 })}
      />
    </Stack>
  );
}

const RENDER_MODES = [
  { value: 'auto', label: 'If the page needs it' },
  { value: 'always', label: 'Always' },
  { value: 'never', label: 'Never' },
];

type Scraper = NonNullable<SectionProps['draft']['scraper']>;

type ContentFieldsProps = {
  scraper: Scraper;
  errors: ReturnType<typeof useFieldErrors>;
  change: (part: Partial<Scraper>) => void;
};

/** Which parts of a page are read, and how much of them. */
function ContentFields({ scraper, errors, change }: ContentFieldsProps) {
  const selectors = { include: scraper.selectors?.include ?? [], exclude: scraper.selectors?.exclude ?? [] };
  const changeSelectors = (part: Partial<typeof selectors>) => {
    const next = { ...selectors, ...part };
    change({ selectors: next.include.length || next.exclude.length ? next : null });
  };
  return (
    <>
      <Switch
        label="Only the main content"
        description="Without navigation, banners and footers."
        checked={scraper.onlyMainContent}
        onChange={(event) => change({ onlyMainContent: event.currentTarget.checked })}
      />
      <TagsInput
        label="Only these parts"
        description="CSS selectors, such as article or .price. They replace the main content."
        value={selectors.include}
        error={errors['taskConfig.webScraper.selectors.include']}
        onChange={(include) => changeSelectors({ include })}
      />
      <TagsInput
        label="Without these parts"
        description="CSS selectors of what to leave out."
        value={selectors.exclude}
        error={errors['taskConfig.webScraper.selectors.exclude']}
        onChange={(exclude) => changeSelectors({ exclude })}
      />
      <NumberInput
        label="Maximum length"
        description="Longer texts are cut. Empty: no limit."
        suffix=" characters"
        min={1}
        max={10_000_000}
        value={scraper.maxChars ?? ''}
        error={errors['taskConfig.webScraper.maxChars']}
        onChange={(value) => change({ maxChars: value === '' ? null : Number(value) })}
      />
    </>
  );
}
