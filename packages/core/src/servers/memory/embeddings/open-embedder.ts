// Chooses the embedder: the host's, else MiniLM if it is on disk or may be downloaded, else the built-in static model, else
// none. A failure never fails the call: the next choice is used, with the reason.

import { ToolError } from '../../../contract/errors.js';
import type { Embedder } from './embedder.js';
import { openStaticModel } from './static-model.js';
import { openTransformersEmbedder, type TransformersOptions } from './transformers-embedder.js';

/** The wanted embedder. */
export interface EmbedderOptions extends Omit<TransformersOptions, 'model' | 'onProgress'> {
  /** Default: `'auto'`, MiniLM if it is available, else the built-in model. */
  embedder?: 'auto' | 'static' | 'off' | Embedder | undefined;
}

/** The embedder to use, and why it is not the wanted one. */
export interface EmbedderChoice {
  /** Undefined: memories are searched by words only. */
  embedder?: Embedder;
  /** Why there is none, or not the wanted one. */
  reason?: string;
}

/** @param onProgress receives how much of a model is loaded, 0 to 1, and its name */
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
