import type { ProvideEditorComponent } from '@glideapps/glide-data-grid';
import type { Format, FormatType } from '../../api/types';
import type { RowmillCell } from './cellContent';

export type EditorProps = Parameters<ProvideEditorComponent<RowmillCell>>[0];

/** The type of the cell that is edited. */
export function formatIn({ value }: EditorProps, usual: FormatType): Format {
  return value.data.format ?? { type: usual };
}

/** How an editor of a typed cell hands over what was chosen: for now, or for good with the way the selection moves. */
export function typedEditing({ value: content, onChange, onFinishedEditing }: EditorProps) {
  const withText = (text: string): RowmillCell => {
    const { data } = content;
    return { ...content, data: { ...data, text, ...(data.rowId && { typedInto: data.rowId }) } };
  };
  return {
    change: (text: string) => onChange(withText(text)),
    finish: (text: string, move: readonly [-1 | 0 | 1, -1 | 0 | 1] = [0, 1]) => onFinishedEditing(withText(text), move),
    cancel: () => onFinishedEditing(undefined, [0, 0]),
  };
}
