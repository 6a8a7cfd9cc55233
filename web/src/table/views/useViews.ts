import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import { client, data } from '../../api/client';
import { viewsQuery } from '../../api/queries';
import type { View } from '../../api/types';
import { notify } from '../../ui/notify';
import { completeFilters } from './operators';
import { useViewAddress, viewUrl } from './useViewAddress';
import { isSameState, stateOf, type ViewState } from './viewState';

export interface Views {
  views: View[];
  /** The saved view that is open; undefined for all rows. */
  view: View | undefined;
  state: ViewState;
  isChanged: boolean;
  open: (viewId: string | undefined) => void;
  /** The address of a view, to pass on. */
  url: (viewId: string) => string;
  change: (state: ViewState) => void;
  discard: () => void;
  save: () => Promise<void>;
  saveAs: (name: string) => Promise<void>;
  rename: (viewId: string, name: string) => Promise<void>;
  move: (viewId: string, order: number) => Promise<void>;
  remove: (viewId: string) => Promise<void>;
}

/** Saved views, the one that is open, and changes to it that nobody has saved. */
export function useViews(projectId: string): Views {
  const queryClient = useQueryClient();
  const saved = useQuery(viewsQuery(projectId));
  const views = useMemo(() => saved.data ?? [], [saved.data]);
  const [viewId, openView] = useViewAddress(projectId);
  const [changed, setChanged] = useState<{ viewId: string | undefined; state: ViewState }>();
  // Changes belong to the view they were made in.
  const draft = changed?.viewId === viewId ? changed?.state : undefined;
  const setDraft = (next: ViewState | undefined) => setChanged(next && { viewId, state: next });
  const view = views.find((candidate) => candidate.id === viewId);
  const base = useMemo(() => stateOf(view), [view]);
  const state = draft ?? base;
  // What is unfinished is neither a change nor saved.
  const whole = { ...state, filters: completeFilters(state.filters) };
  const path = { projectId };

  // Whoever comes by an old link, or watches a view that somebody deletes, is told why all rows are there.
  const removing = useRef<string>(undefined);
  const isMissing = viewId !== undefined && saved.isSuccess && !saved.isFetching && !view;
  useEffect(() => {
    if (!isMissing || removing.current === viewId) return;
    if (!saved.isFetchedAfterMount) return void saved.refetch();
    if (draft) setChanged({ viewId: undefined, state: draft });
    openView(undefined, true);
    notify('It was deleted, or the link is wrong. All rows are shown.', 'View not found');
    // Only as it is found out.
  }, [isMissing, viewId, saved.isFetchedAfterMount]);

  const reread = () => queryClient.invalidateQueries({ queryKey: viewsQuery(projectId).queryKey });
  const patch = async (id: string, body: Partial<ViewState> & { name?: string; order?: number }) => {
    await data(
      client.PATCH('/v4/projects/{projectId}/views/{viewId}', {
        params: { path: { ...path, viewId: id } },
        body: body as never,
      }),
    );
    await reread();
  };

  return {
    views,
    view,
    state,
    isChanged: draft !== undefined && !isSameState(whole, base),
    open: (id) => {
      setDraft(undefined);
      openView(id);
    },
    url: (id) => viewUrl(projectId, id),
    change: setDraft,
    discard: () => setDraft(undefined),
    save: async () => {
      if (!view) return;
      await patch(view.id, whole);
      setDraft(undefined);
    },
    saveAs: async (name) => {
      const answer = await data(
        client.POST('/v4/projects/{projectId}/views', { params: { path }, body: { name, ...whole } as never }),
      );
      await reread();
      setDraft(undefined);
      openView(answer.view.id);
    },
    rename: (id, name) => patch(id, { name }),
    move: (id, order) => patch(id, { order }),
    remove: async (id) => {
      removing.current = id;
      await data(
        client.DELETE('/v4/projects/{projectId}/views/{viewId}', { params: { path: { ...path, viewId: id } } }),
      );
      if (id === viewId) openView(undefined);
      setDraft(undefined);
      await reread();
    },
  };
}

