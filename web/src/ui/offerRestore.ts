import { type RestoreBody, restore } from '../api/trash';
import { notify, notifyError } from './notify';
import { notifyAction } from './notifyAction';
import { restoredMessage } from './restoredMessage';

/** Says what was deleted and offers to restore it. */
export function offerRestore(projectId: string, message: string, body: RestoreBody, onRestored: () => Promise<unknown>): void {
  notifyAction(message, 'Undo', () => {
    restore(projectId, body).then(
      async (restored) => {
        notify([restoredMessage(restored), ...restored.appliedFixes].join(' '));
        await onRestored();
      },
      (error: unknown) => notifyError(error, 'Nothing was restored'),
    );
  });
}
