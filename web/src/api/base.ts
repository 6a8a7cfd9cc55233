/** The path prefix the app is served under, without a trailing slash; "" at the root of a host. */
export const prefix = new URL(document.baseURI).pathname.replace(/\/+$/, '');

/** The full URL of a path of the service, for copying. */
export function absoluteUrl(path: string): string {
  return window.location.origin + prefix + path;
}
