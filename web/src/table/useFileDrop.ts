import { type DragEvent, type HTMLAttributes, useState } from 'react';

interface FileDrop {
  isDropping: boolean;
  handlers: Pick<HTMLAttributes<HTMLElement>, 'onDragOver' | 'onDragLeave' | 'onDrop'>;
}

/** Drag and drop of a file onto an element. */
export function useFileDrop(onFile: (file: File) => void): FileDrop {
  const [isDropping, setIsDropping] = useState(false);
  return {
    isDropping,
    handlers: {
      onDragOver: (event: DragEvent) => {
        if (!event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        setIsDropping(true);
      },
      onDragLeave: (event: DragEvent) => event.currentTarget === event.target && setIsDropping(false),
      onDrop: (event: DragEvent) => {
        event.preventDefault();
        setIsDropping(false);
        const file = event.dataTransfer.files[0];
        if (file) onFile(file);
      },
    },
  };
}
