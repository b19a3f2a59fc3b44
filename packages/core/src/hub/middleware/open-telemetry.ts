// Loads OpenTelemetry's API when the first call is traced or measured: importing it costs a third of this package's import.

import type * as OpenTelemetry from '@opentelemetry/api';
import type { ContentBlock } from '../../contract/result.js';

/** The name of the tracer and the meter. */
export const INSTRUMENTATION = '@toolwright/core';

let loaded: typeof OpenTelemetry | undefined;
let loading: Promise<typeof OpenTelemetry> | undefined;

/** Calls `use` with the API: now if it is loaded, else once it is. */
export function withApi<T>(use: (api: typeof OpenTelemetry) => Promise<T>): Promise<T> {
  if (loaded) return use(loaded);
  loading ??= import('@opentelemetry/api').then((api) => (loaded = api));
  return loading.then(use);
}

/** Calls `report` with the API: now if it is loaded, else once it is. Its errors are ignored. */
export function reportWithApi(report: (api: typeof OpenTelemetry) => void): void {
  withApi(async (api) => report(api)).catch(() => undefined);
}

/** The size of a result's content: text and addresses in UTF-8, binary data decoded. In bytes. */
export function contentBytes(content: readonly ContentBlock[]): number {
  return content.reduce((sum, block) => {
    if (block.type === 'text') return sum + Buffer.byteLength(block.text);
    if (block.type === 'resource_link') return sum + Buffer.byteLength(block.uri);
    if (block.type === 'resource') {
      const { text = '', blob = '' } = block.resource;
      return sum + Buffer.byteLength(text) + Buffer.byteLength(blob, 'base64');
    }
    return sum + Buffer.byteLength(block.data, 'base64');
  }, 0);
}
