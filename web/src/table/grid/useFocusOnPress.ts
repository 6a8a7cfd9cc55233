import type { DataEditorRef } from '@glideapps/glide-data-grid';
import { type RefObject, useEffect } from 'react';

/** Focuses the grid on every press. By itself it takes the focus only when the selection changes. */
export function useFocusOnPress(editor: RefObject<DataEditorRef | null>): void {
  useEffect(() => {
    const onPress = ({ target }: PointerEvent) => {
      const isGrid = target instanceof Element && target.closest('.dvn-scroller, .dvn-underlay') && !target.closest('button');
      if (isGrid) editor.current?.focus();
    };
    // On the window, to run after menus: a menu that closes returns the focus to its button.
    window.addEventListener('pointerdown', onPress);
    return () => window.removeEventListener('pointerdown', onPress);
  }, [editor]);
}
