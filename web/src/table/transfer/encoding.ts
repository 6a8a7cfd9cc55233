/** Text encodings of files, by the browser's names. */
export const ENCODINGS = [
  { value: 'utf-8', label: 'UTF-8 (all languages)' },
  { value: 'utf-16le', label: 'UTF-16 (Excel’s “Unicode text”)' },
  { value: 'utf-16be', label: 'UTF-16, big-endian' },
  { value: 'windows-1252', label: 'Western Europe (Windows-1252, Latin-1)' },
  { value: 'windows-1250', label: 'Central Europe (Windows-1250)' },
  { value: 'windows-1251', label: 'Cyrillic (Windows-1251)' },
  { value: 'windows-1253', label: 'Greek (Windows-1253)' },
  { value: 'windows-1254', label: 'Turkish (Windows-1254)' },
  { value: 'macintosh', label: 'Old Macintosh' },
  { value: 'shift_jis', label: 'Japanese (Shift JIS)' },
  { value: 'gb18030', label: 'Chinese (GB 18030)' },
  { value: 'big5', label: 'Chinese (Big5)' },
  { value: 'euc-kr', label: 'Korean (EUC-KR)' },
];

/** How much of a file to check for valid UTF-8. */
const SCAN_BYTES_MAX = 64 * 1024 * 1024;

/** Detects the encoding of a file. Without a mark and if not UTF-8, assumes Western European, the most common. */
export async function encodingOf(file: Blob, head: Uint8Array): Promise<string> {
  const marked = markedEncoding(head);
  if (marked) return marked;
  return (await isUtf8(file)) ? 'utf-8' : 'windows-1252';
}

/** The encoding given by a byte order mark, or by the zero bytes of UTF-16 text. */
export function markedEncoding(head: Uint8Array): string | undefined {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return 'utf-8';
  const zeros = [0, 0];
  head.forEach((byte, place) => {
    if (byte === 0) zeros[place % 2] = (zeros[place % 2] ?? 0) + 1;
  });
  const [even = 0, odd = 0] = zeros;
  if (odd > head.length / 8 && odd > 8 * even) return 'utf-16le';
  return even > head.length / 8 && even > 8 * odd ? 'utf-16be' : undefined;
}

async function isUtf8(file: Blob): Promise<boolean> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = file.slice(0, SCAN_BYTES_MAX).stream().getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      // The end of the checked part may cut a character in two.
      if (done) return decoder.decode(undefined, { stream: file.size > SCAN_BYTES_MAX }) !== undefined;
      decoder.decode(value, { stream: true });
    }
  } catch {
    await reader.cancel();
    return false;
  }
}

/** The file as UTF-8, which the service needs. The browser converts it as a stream. */
export async function asUtf8(file: Blob, encoding: string, signal: AbortSignal): Promise<Blob> {
  if (encoding === 'utf-8') return file;
  const letters = file.stream().pipeThrough(new TextDecoderStream(encoding), { signal });
  return new Response(letters.pipeThrough(new TextEncoderStream(), { signal })).blob();
}
