import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { client, data } from '../../api/client';
import { viewsQuery } from '../../api/queries';
import type { View } from '../../api/types';
import { notify } from '../../ui/notify';
import { offerRestore } from '../../ui/offerRestore';
import { completeFilters } from './operators';
import { readAddress, type TableAddress } from './tableAddress';
import { useViewAddress, viewUrl } from './useViewAddress';
import { isSameState, stateOf, type ViewState } from './viewState';

export interface Views {
  views: View[];
  /** The open saved view; undefined for all rows. */
  view: View | undefined;
  state: ViewState;
  isChanged: boolean;
  open: (viewId: string | undefined) => void;
  /** The URL of a view, for sharing. */
  url: (viewId: string) => string;
  change: (state: ViewState) => void;
  discard: () => void;
  save: () => Promise<void>;
  saveAs: (name: string) => Promise<void>;
  rename: (viewId: string, name: string) => Promise<void>;
  move: (viewId: string, order: number) => Promise<void>;
  remove: (viewId: string) => Promise<void>;
}

/** Saved views, the open one, and unsaved changes to it. */
export function useViews(projectId: string): Views {
  const saved = useQuery(viewsQuery(projectId));
  const api = useViewApi(projectId);
  const views = useMemo(() => saved.data ?? [], [saved.data]);
  const [viewId, openView] = useViewAddress(projectId);
  const view = views.find((candidate) => candidate.id === viewId);
  const base = useMemo(() => stateOf(view), [view]);
  const [changed, setChanged] = useState(() => changesOf(readAddress(window.location.search), viewId));
  // Changes belong to the view they were made in.
  const changes = changed?.viewId === viewId ? changed?.state : undefined;
  const draft = useMemo(() => changes && { ...base, ...changes }, [base, changes]);
  const setDraft = (next: ViewState | undefined) => setChanged(next && { viewId, state: next });
  const state = draft ?? base;
  // Incomplete filters are neither a change nor saved.
  const complete = { ...state, filters: completeFilters(state.filters) };

  // After an old link, or when somebody else deletes the open view, say why all rows are shown.
  const removing = useRef<string>(undefined);
  const isMissing = viewId !== undefined && saved.isSuccess && !saved.isFetching && !view;
  useEffect(() => {
    if (!isMissing || removing.current === viewId) return;
    if (!saved.isFetchedAfterMount) return void saved.refetch();
    if (draft) setChanged({ viewId: undefined, state: draft });
    openView(undefined, true);
    notify('It was deleted, or the link is wrong. All rows are shown.', 'View not found');
  }, [isMissing, viewId, saved.isFetchedAfterMount]);

  return {
    views,
    view,
    state,
    isChanged: draft !== undefined && !isSameState(complete, base),
    open: (id) => {
      setDraft(undefined);
      openView(id);
    },
    url: (id) => viewUrl(projectId, id),
    change: setDraft,
    discard: () => setDraft(undefined),
    save: async () => {
      if (!view) return;
      await api.patch(view.id, complete);
      setDraft(undefined);
    },
    saveAs: async (name) => {
      const id = await api.create(name, complete);
      setDraft(undefined);
      openView(id);
    },
    rename: (id, name) => api.patch(id, { name }),
    move: (id, order) => api.patch(id, { order }),
    remove: async (id) => {
      removing.current = id;
      await api.remove(id);
      if (id === viewId) openView(undefined);
      setDraft(undefined);
      const name = views.find((candidate) => candidate.id === id)?.name ?? '';
      offerRestore(projectId, `View “${name}” deleted.`, { viewIds: [id], rowIds: [], columnIds: [] }, () => {
        removing.current = undefined;
        return api.refetch();
      });
      await api.refetch();
    },
  };
}

interface Changes {
  viewId: string | undefined;
  /** What differs from the saved view, at least. */
  state: Partial<ViewState>;
}

/** The changes that an address tells of. */
function changesOf({ filters, sorting }: TableAddress, viewId: string | undefined): Changes | undefined {
  if (!filters && !sorting) return undefined;
  return { viewId, state: { ...(filters && { filters }), ...(sorting && { sorting }) } };
}

/** Requests that change views. `create` and `patch` refetch the list; after `remove` the caller does. */
function useViewApi(projectId: string) {
  const queryClient = useQueryClient();
  const refetch = () => queryClient.invalidateQueries({ queryKey: viewsQuery(projectId).queryKey });
  return {
    refetch,
    patch: async (viewId: string, body: Partial<ViewState> & { name?: string; order?: number }) => {
      await data(
        client.PATCH('/v4/projects/{projectId}/views/{viewId}', { params: { path: { projectId, viewId } }, body: body as never }),
      );
      await refetch();
    },
    create: async (name: string, state: ViewState): Promise<string> => {
      const { view } = await data(
        client.POST('/v4/projects/{projectId}/views', { params: { path: { projectId } }, body: { name, ...state } as never }),
      );
      await refetch();
      return view.id;
    },
    remove: async (viewId: string) => {
      await data(client.DELETE('/v4/projects/{projectId}/views/{viewId}', { params: { path: { projectId, viewId } } }));
    },
  };
}
