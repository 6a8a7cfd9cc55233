import type { ImageWindowLoader } from '@glideapps/glide-data-grid';

/** Cells hold no images, so nothing loads any. */
export const noImages: ImageWindowLoader = {
  setWindow: () => {},
  setCallback: () => {},
  loadOrGetImage: () => undefined,
};
