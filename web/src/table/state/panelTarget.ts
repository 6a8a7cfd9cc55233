import type { Recipe } from '../model/recipe';
import type { TemplateId } from '../model/templates';

/** What the side panel shows. */
export type PanelTarget =
  | { kind: 'gallery' }
  | { kind: 'recipe'; recipe: Recipe }
  | { kind: 'trash' }
  | { kind: 'newColumn'; templateId: TemplateId; header: string }
  | { kind: 'column'; columnId: string }
  | { kind: 'cell'; rowId: string; columnId: string }
  | { kind: 'runs' }
  | { kind: 'run'; runId: string }
  | { kind: 'groups'; columnId?: string };
