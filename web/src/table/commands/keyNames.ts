const IS_MAC = typeof navigator !== 'undefined' && /Mac|iPhone|iPad/.test(navigator.platform);

/** Keys as they are printed on the reader's keyboard: `Ctrl + K` or `⌘ K`. */
export function keyNames(keys: string, isMac = IS_MAC): string {
  return isMac ? keys.replace('Ctrl', '⌘').replace('Shift', '⇧').replaceAll(' + ', ' ') : keys;
}
