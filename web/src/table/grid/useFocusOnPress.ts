import type { DataEditorRef } from '@glideapps/glide-data-grid';
import { type RefObject, useEffect } from 'react';

/** Every press in the grid gives it the keyboard. By itself it takes it only when another cell is chosen. */
export function useFocusOnPress(editor: RefObject<DataEditorRef | null>): void {
  useEffect(() => {
    const onPress = ({ target }: PointerEvent) => {
      const isGrid = target instanceof Element && target.closest('.dvn-scroller, .dvn-underlay') && !target.closest('button');
      if (isGrid) editor.current?.focus();
    };
    // On the window, so that it comes after menus that a press closes: they give the keyboard back to their buttons.
    window.addEventListener('pointerdown', onPress);
    return () => window.removeEventListener('pointerdown', onPress);
  }, [editor]);
}
