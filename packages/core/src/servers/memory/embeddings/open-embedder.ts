// Which embedder is used: the caller's own, else MiniLM where it is on disk or may be fetched, else the built-in static
// model, else none. No way of failing here is a failure of a call: it leaves the next one, and says why.

import { ToolError } from '../../../contract/errors.js';
import type { Embedder } from './embedder.js';
import { openStaticModel } from './static-model.js';
import { openTransformersEmbedder, type TransformersOptions } from './transformers-embedder.js';

/** Which embedder is wanted. */
export interface EmbedderOptions extends Omit<TransformersOptions, 'model' | 'onProgress'> {
  /** Default: `'auto'`, MiniLM where it is, else the built-in model. */
  embedder?: 'auto' | 'static' | 'off' | Embedder | undefined;
}

/** The embedder that is used, and what stands in the way of a better one. */
export interface EmbedderChoice {
  /** Undefined: only words are searched. */
  embedder?: Embedder;
  /** Why there is none, or why it is not the one that was asked for. */
  reason?: string;
}

/** @param onProgress gets how far a model is loaded, 0 to 1, and which */
export async function openEmbedder(
  options: EmbedderOptions,
  onProgress?: (progress: number, what: string) => void,
): Promise<EmbedderChoice> {
  const { embedder = 'auto', ...model } = options;
  if (typeof embedder === 'object') return { embedder };
  if (embedder === 'off') return { reason: 'the option embedder is "off"' };
  const reasons: string[] = [];
  if (embedder === 'auto' && (model.modelPath !== undefined || model.allowDownload === true)) {
    try {
      return { embedder: await openTransformersEmbedder({ ...model, onProgress }) };
    } catch (error) {
      reasons.push(ToolError.from(error, 'UNAVAILABLE').message);
    }
  }
  try {
    return { embedder: await openStaticModel(), ...(reasons.length > 0 && { reason: reasons.join(' ') }) };
  } catch (error) {
    reasons.push(ToolError.from(error, 'UNAVAILABLE').message);
    return { reason: reasons.join(' ') };
  }
}
