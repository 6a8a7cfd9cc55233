import { useEffect, useRef, useState } from 'react';
import { stringifyJson } from '../../api/exactNumber';
import { notifyError } from '../../ui/notify';
import { cellSelection, type Selection } from '../grid/selection';
import type { Table } from '../state/useTable';
import { findCell, type Found, type Step } from './findCell';

/** A pause in typing after which the text is looked for. */
const TYPING_MILLISECONDS = 200;

/** Finds a text in the cells of the list, and moves the selection from one to the next. */
export function useFind(table: Table, onSelect: (selection: Selection) => void) {
  const [text, setText] = useState('');
  const [found, setFound] = useState<Found>();
  const [isLooking, setIsLooking] = useState(false);
  const request = useRef<AbortController>(undefined);
  /** The text and the list that `found` is about. */
  const looked = useRef('');
  /** Where the next step starts: the selected cell, or the one found last if it is not selected yet. */
  const place = useRef(table.selection.cell);
  useEffect(() => {
    place.current = table.selection.cell;
  }, [table.selection.cell]);
  /** Steps are taken one after the other, however quickly a key is pressed. */
  const steps = useRef(Promise.resolve());
  const key = stringifyJson([text, table.query, table.shownColumns.map(({ id }) => id)]);

  const look = (direction: Step['direction']) => {
    if (text === '') return;
    const isNew = looked.current !== key;
    looked.current = key;
    if (isNew) request.current?.abort();
    steps.current = steps.current.then(() => take(direction, isNew));
  };

  const take = async (direction: Step['direction'], isNew: boolean) => {
    if (looked.current !== key) return;
    const controller = new AbortController();
    request.current = controller;
    setIsLooking(true);
    try {
      // What was just typed may be in the selected cell itself.
      const next = await findCell(table, text, { from: place.current, direction, includeStart: isNew }, controller.signal);
      if (controller.signal.aborted) return;
      setFound(next);
      if (next.cell) place.current = next.cell;
      if (next.cell) onSelect(cellSelection(next.cell.rowIndex, next.cell.columnId, table.shownColumns));
    } catch (error) {
      if (!controller.signal.aborted) notifyError(error, 'The search failed');
    } finally {
      if (!controller.signal.aborted) setIsLooking(false);
    }
  };

  useEffect(() => {
    if (text === '') {
      request.current?.abort();
      looked.current = '';
      setFound(undefined);
      setIsLooking(false);
      return undefined;
    }
    const timer = setTimeout(() => {
      if (looked.current !== key) look('next');
    }, TYPING_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [key]);
  useEffect(() => () => request.current?.abort(), []);

  return { text, setText, found: text === '' ? undefined : found, isLooking, look };
}
