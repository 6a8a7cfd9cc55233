import { prefix } from '../../api/base';
import { parseJson } from '../../api/exactNumber';
import type { Status } from '../../api/types';
import type { RowChanges } from './rowStore';

export interface ProjectEventHandlers {
  onRows: (changes: RowChanges) => void;
  onStatus: (status: Status) => void;
  onProject: () => void;
  /** Events were missed, so everything must be refetched. Also called on the first connection. */
  onReset: () => void;
  onConnection: (isConnected: boolean) => void;
}

/** A hidden page closes its connection after this time: browsers allow few connections per host. */
const HIDDEN_MILLISECONDS = 60_000;
const RETRY_MILLISECONDS = 3_000;

/** Subscribes to a project's server-sent events. Returns the function that unsubscribes. */
export function subscribeToProject(projectId: string, handlers: ProjectEventHandlers): () => void {
  let source: EventSource | undefined;
  let lastEventId = '';
  let timer: ReturnType<typeof setTimeout> | undefined;

  const open = () => {
    const resumed = lastEventId ? `?lastEventId=${lastEventId}` : '';
    source = new EventSource(`${prefix}/v4/projects/${projectId}/events${resumed}`);
    source.onopen = () => {
      if (!lastEventId) handlers.onReset();
      handlers.onConnection(true);
    };
    source.onerror = () => {
      handlers.onConnection(false);
      // The browser reconnects by itself unless the server refused the stream.
      if (source?.readyState === EventSource.CLOSED) timer = setTimeout(open, RETRY_MILLISECONDS);
    };
    source.addEventListener('rows', (event: MessageEvent<string>) => {
      handlers.onRows(parseJson(event.data) as RowChanges);
    });
    source.addEventListener('status', (event: MessageEvent<string>) => {
      lastEventId = event.lastEventId;
      handlers.onStatus(parseJson(event.data) as Status);
    });
    source.addEventListener('project', () => handlers.onProject());
    source.addEventListener('reset', () => handlers.onReset());
  };

  const close = () => {
    clearTimeout(timer);
    source?.close();
    source = undefined;
  };

  const onVisibility = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(close, HIDDEN_MILLISECONDS);
    else if (!source || source.readyState === EventSource.CLOSED) open();
  };

  open();
  document.addEventListener('visibilitychange', onVisibility);
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    close();
  };
}
