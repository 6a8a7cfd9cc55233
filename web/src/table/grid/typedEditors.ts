import type { ProvideEditorComponent } from '@glideapps/glide-data-grid';
import type { FormatType } from '../../api/types';
import type { RowmillCell } from './cellContent';
import { ChoiceEditor } from './ChoiceEditor';
import { DateEditor } from './DateEditor';
import { RatingEditor } from './RatingEditor';

const EDITORS: Partial<Record<FormatType, ProvideEditorComponent<RowmillCell>>> = {
  select: ChoiceEditor,
  multiSelect: ChoiceEditor,
  checkbox: ChoiceEditor,
  date: DateEditor,
  dateTime: DateEditor,
  rating: RatingEditor,
};

/** The editor of a cell's type; undefined if its text is edited. A date that does not fit is edited as text, so that it can be mended. */
export function typedEditor({ data, readonly: isReadOnly }: RowmillCell): ProvideEditorComponent<RowmillCell> | undefined {
  const { format, display } = data;
  if (!format || isReadOnly) return undefined;
  const isMisfit = 'misfit' in display && display.misfit !== undefined;
  const editor = EDITORS[format.type];
  return isMisfit && editor === DateEditor ? undefined : editor;
}
