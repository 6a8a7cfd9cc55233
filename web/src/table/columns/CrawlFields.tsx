import { Group, NumberInput, Stack, Switch, TagsInput } from '@mantine/core';
import type { components } from '../../../generated/schema';
import type { useFieldErrors } from '../../ui/fieldErrors';

type Crawl = components['schemas']['Crawl'];

type CrawlFieldsProps = {
  crawl: Crawl | null | undefined;
  errors: ReturnType<typeof useFieldErrors>;
  onChange: (crawl: Crawl | null) => void;
};

const PATH = 'taskConfig.webScraper.crawl';
const START: Crawl = { include: [], exclude: [], maxDepth: 2, maxPages: 10, sitemap: true, timeoutSeconds: 300 };

/** Which other pages of a site are read, and how many. */
export function CrawlFields({ crawl, errors, onChange }: CrawlFieldsProps) {
  return (
    <Stack gap="md">
      <Switch
        label="Read more pages of the site"
        description="Follows the links of the page. The cell then holds a list of pages."
        checked={Boolean(crawl)}
        onChange={(event) => onChange(event.currentTarget.checked ? START : null)}
      />
      {crawl && <Details crawl={{ ...START, ...crawl }} errors={errors} onChange={onChange} />}
    </Stack>
  );
}

function Details({ crawl, errors, onChange }: CrawlFieldsProps & { crawl: Required<Crawl> }) {
  const change = (part: Partial<Crawl>) => onChange({ ...crawl, ...part });
  return (
    <Stack gap="md" pl="md">
      <TagsInput
        label="Only these pages"
        description="Such as /blog/*, where * stands for anything. Empty: all pages of this site."
        value={crawl.include}
        error={errors[`${PATH}.include`]}
        onChange={(include) => change({ include })}
      />
      <TagsInput
        label="Without these pages"
        description="Such as /login* or *.pdf."
        value={crawl.exclude}
        error={errors[`${PATH}.exclude`]}
        onChange={(exclude) => change({ exclude })}
      />
      <Group grow align="flex-start">
        <NumberInput
          label="Maximum pages"
          min={1}
          max={50}
          value={crawl.maxPages}
          error={errors[`${PATH}.maxPages`]}
          onChange={(value) => change({ maxPages: Number(value) || START.maxPages })}
        />
        <NumberInput
          label="Links to follow"
          description="How many clicks from the page above."
          min={0}
          max={10}
          value={crawl.maxDepth}
          error={errors[`${PATH}.maxDepth`]}
          onChange={(value) => change({ maxDepth: value === '' ? START.maxDepth : Number(value) })}
        />
        <NumberInput
          label="Time for all pages"
          suffix=" seconds"
          min={1}
          max={600}
          value={crawl.timeoutSeconds}
          error={errors[`${PATH}.timeoutSeconds`]}
          onChange={(value) => change({ timeoutSeconds: Number(value) || START.timeoutSeconds })}
        />
      </Group>
      <Switch
        label="Look into the sitemap"
        description="Finds pages that the site lists for search engines."
        checked={crawl.sitemap}
        onChange={(event) => change({ sitemap: event.currentTarget.checked })}
      />
    </Stack>
  );
}
