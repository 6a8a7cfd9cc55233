import { Anchor, Text } from '@mantine/core';

interface Props {
  /** What the form does, in a sentence. */
  text: string;
  /** The guide that says more, as it is called below /docs. */
  guide: string;
}

/** Short help beside a form, with a link to the guide. */
export function HelpLink({ text, guide }: Props) {
  return (
    <Text size="sm" c="dimmed">
      {text}{' '}
      <Anchor href={`./docs/${guide}`} target="_blank" size="sm" underline="always">
        Read more
      </Anchor>
    </Text>
  );
}
