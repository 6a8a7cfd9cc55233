import { prefix } from '../../app/base';
import { toApiError, unreachable } from '../../api/error';

export interface ImportResult {
  importedCount: number;
  updatedCount: number;
  rejectedCount: number;
  columnsCreated: { id: string; header: string }[];
  rejected: { line: number; reason: string; values: string[] }[];
  stopped?: boolean;
}

export interface ImportOptions {
  header: boolean;
  mapping: Record<string, string | null>;
  matchOn?: string;
}

export interface Upload {
  done: Promise<ImportResult>;
  abort: () => void;
}

/** Sends a file as it is; the browser reads it from the disk while it goes. Only this kind of request tells how far it is. */
export function uploadFile(
  projectId: string,
  file: File,
  options: ImportOptions,
  onProgress: (sentBytes: number) => void,
): Upload {
  const params = new URLSearchParams({ header: String(options.header), delimiter: 'auto', createColumns: 'true' });
  if (Object.keys(options.mapping).length > 0) params.set('mapping', JSON.stringify(options.mapping));
  if (options.matchOn) params.set('matchOn', options.matchOn);
  const request = new XMLHttpRequest();
  request.open('POST', `${prefix}/v4/projects/${projectId}/import?${params.toString()}`);
  request.setRequestHeader('Content-Type', isJsonLines(file) ? 'application/x-ndjson' : 'text/csv');
  request.responseType = 'json';
  const done = new Promise<ImportResult>((resolve, reject) => {
    request.upload.onprogress = (event) => onProgress(event.loaded);
    request.onerror = () => reject(unreachable());
    request.onabort = () => reject(new Error('The import was stopped. What was imported before stays.'));
    request.onload = () => {
      if (request.status === 200) resolve(request.response as ImportResult);
      else reject(toApiError(request.status, request.response));
    };
    request.send(file);
  });
  return { done, abort: () => request.abort() };
}

export function isJsonLines(file: File): boolean {
  return /\.(jsonl|ndjson)$/i.test(file.name);
}
