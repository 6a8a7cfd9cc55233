/**
 * The path at which the service has the thumbnail of a cell's image. The browser never asks the image's own server. The version
 * changes with the image, so that the browser can keep it.
 */
export function imageAddress(projectId: string, rowId: string, columnId: string, image: string): string {
  const path = [projectId, 'rows', rowId, 'cells', columnId].map(encodeURIComponent).join('/');
  return `/v4/projects/${path}/image?version=${hashOf(image)}`;
}

/** Of a longer text, only its ends count: it is an image itself. */
const HASHED_MAX = 4_096;

/** A short name for a text (FNV-1a, twice). */
export function hashOf(whole: string): string {
  const text = whole.length > HASHED_MAX ? `${whole.length} ${whole.slice(0, HASHED_MAX / 2)}${whole.slice(-HASHED_MAX / 2)}` : whole;
  let [one, two] = [0x811c9dc5, 0xc9dc5118];
  for (let place = 0; place < text.length; place += 1) {
    const letter = text.charCodeAt(place);
    one = Math.imul(one ^ letter, 0x01000193);
    two = Math.imul(two ^ letter, 0x01000193) + place;
  }
  return [one, two].map((part) => (part >>> 0).toString(16).padStart(8, '0')).join('');
}
