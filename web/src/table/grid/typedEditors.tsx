import type { ProvideEditorComponent } from '@glideapps/glide-data-grid';
import type { FormatType } from '../../api/types';
import type { RowmillCell } from './cellContent';
import { ChoiceEditor } from './ChoiceEditor';
import { DateEditor } from './DateEditor';
import { RatingEditor } from './RatingEditor';
import type { EditorProps } from './useTypedEditing';

const EDITORS: Partial<Record<FormatType, typeof ChoiceEditor>> = {
  select: ChoiceEditor,
  multiSelect: ChoiceEditor,
  checkbox: ChoiceEditor,
  date: DateEditor,
  dateTime: DateEditor,
  rating: RatingEditor,
};

/** The editor of a cell's type; undefined if its text is edited. A value that does not fit is edited as text, so that it can be mended. */
export function typedEditor({ data, readonly: isReadOnly }: RowmillCell): ProvideEditorComponent<RowmillCell> | undefined {
  const { format, display } = data;
  const Editor = format && EDITORS[format.type];
  const isMisfit = 'misfit' in display && display.misfit !== undefined;
  if (!Editor || isReadOnly || (isMisfit && (format.type === 'date' || format.type === 'dateTime'))) return undefined;
  return function TypedEditor(props: EditorProps) {
    return <Editor {...props} format={format} />;
  };
}
