import { prefix } from '../../api/base';
import { toApiError, unreachable } from '../../api/error';
import { parseJson, stringifyJson } from '../../api/exactNumber';
import type { Format, ImportResult } from '../../api/types';
import { asUtf8 } from './encoding';
import { isJsonLines, type Preview } from './preview';

export interface ImportOptions {
  header: boolean;
  mapping: Record<string, string | null>;
  matchOn?: string;
  /** A column to rename, with its new header. */
  renamed?: { columnId: string; header: string; format?: Format };
  /** The types of new columns, by field. */
  formats: Record<string, Format>;
  /** Whether to remove apostrophes before formulas. */
  isUnmarked: boolean;
}

export interface Upload {
  done: Promise<ImportResult>;
  abort: () => void;
}

const DELIMITERS: Record<string, string> = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'pipe' };

/** Larger files are imported in the background: no time limit of a proxy ends that, and the page may be closed. */
const BACKGROUND_BYTES = 5_000_000;

/** Uploads a file with the settings of its preview. The browser streams it from disk. */
export function uploadFile(
  projectId: string,
  { file, encoding, delimiter }: Preview,
  options: ImportOptions,
  onProgress: (sentBytes: number, bytes: number) => void,
): Upload {
  const params = new URLSearchParams({
    header: String(options.header),
    delimiter: DELIMITERS[delimiter] ?? 'auto',
    createColumns: 'true',
    formulas: options.isUnmarked ? 'neutralize' : 'keep',
  });
  if (Object.keys(options.mapping).length > 0) params.set('mapping', stringifyJson(options.mapping));
  if (Object.keys(options.formats).length > 0) params.set('formats', stringifyJson(options.formats));
  if (options.matchOn) params.set('matchOn', options.matchOn);
  if (file.size > BACKGROUND_BYTES) params.set('async', 'true');
  const stopping = new AbortController();
  const send = async () => {
    const body = await asUtf8(file, encoding, stopping.signal).catch(() => {
      throw stopping.signal.aborted ? new Error('The import was stopped before anything was sent.') : new Error('The file could not be read.');
    });
    const url = `${prefix}/v4/projects/${projectId}/import?${params.toString()}`;
    return post(url, body, isJsonLines(file) ? 'application/x-ndjson' : 'text/csv', stopping.signal, onProgress);
  };
  return { done: send(), abort: () => stopping.abort() };
}

/** Uses XMLHttpRequest, because `fetch` does not report upload progress. */
function post(
  url: string,
  body: Blob,
  mediaType: string,
  signal: AbortSignal,
  onProgress: (sentBytes: number, bytes: number) => void,
): Promise<ImportResult> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open('POST', url);
    request.setRequestHeader('Content-Type', mediaType);
    signal.addEventListener('abort', () => request.abort());
    request.upload.onprogress = (event) => onProgress(event.loaded, body.size);
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new Error('The import was stopped. Rows imported so far are kept.'));
    request.onload = () => {
      const body = bodyOf(request);
      if (body !== undefined && (request.status === 200 || request.status === 202)) resolve(body as ImportResult);
      else reject(toApiError(request.status, body));
    };
    request.send(body);
  });
}

function bodyOf(request: XMLHttpRequest): unknown {
  try {
    return parseJson(request.responseText);
  } catch {
    return undefined;
  }
}
