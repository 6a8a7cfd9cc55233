import { Text } from '@mantine/core';
import { AboutInput } from './AboutInput';
import { AiSection } from './AiSection';
import { FanOutSection } from './FanOutSection';
import { HttpSection } from './HttpSection';
import { ReferenceSection } from './ReferenceSection';
import { ScraperSection } from './ScraperSection';
import type { SectionProps } from './sectionProps';
import { WaterfallSection } from './WaterfallSection';

/** The settings for the column's type. */
export function TypeSection(props: SectionProps) {
  switch (props.draft.templateId) {
    case 'ai-text':
    case 'ai-json':
    case 'ai-research':
      return <AiSection {...props} />;
    case 'waterfall-email':
    case 'verify-email':
    case 'find-company':
    case 'find-people':
      return <WaterfallSection {...props} />;
    case 'web-scraper':
      return <ScraperSection {...props} />;
    case 'fan-out':
      return <FanOutSection {...props} />;
    case 'http-api':
      return <HttpSection {...props} />;
    case 'reference':
      return <ReferenceSection {...props} />;
    default:
      if (props.column?.trigger) return <AboutInput table={props.table} columnId={props.column.id} />;
      return (
        <Text size="sm" c="dimmed">
          Type, paste or import values here, or send them through the API.
        </Text>
      );
  }
}
