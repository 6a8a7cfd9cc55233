import type { ImageWindowLoader } from '@glideapps/glide-data-grid';

/** Image loader that loads nothing, because cells have no images. */
export const noImages: ImageWindowLoader = {
  setWindow: () => {},
  setCallback: () => {},
  loadOrGetImage: () => undefined,
};
