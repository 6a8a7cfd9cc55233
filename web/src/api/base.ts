/** The path prefix the application is served under, without a slash at its end: "" at the root of a host. */
export const prefix = new URL(document.baseURI).pathname.replace(/\/+$/, '');

/** The address of a path of the service, for people to copy. */
export function absoluteUrl(path: string): string {
  return window.location.origin + prefix + path;
}
