import { useEffect, useState } from 'react';
import { prefix } from '../../api/base';
import { BusyError, Thumbnails } from './thumbnails';

/** The thumbnails of one grid. They end with it. */
export function useThumbnails(): Thumbnails {
  const [thumbnails] = useState(() => new Thumbnails(load));
  useEffect(() => {
    thumbnails.open();
    return () => thumbnails.close();
  }, [thumbnails]);
  return thumbnails;
}

async function load(path: string, signal: AbortSignal): Promise<ImageBitmap> {
  const response = await fetch(prefix + path, { signal });
  if (response.status === 429 || response.status === 503) throw new BusyError();
  if (!response.ok) throw new Error(`${response.status}`);
  return createImageBitmap(await response.blob());
}
