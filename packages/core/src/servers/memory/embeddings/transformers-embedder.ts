// all-MiniLM-L6-v2, or another sentence encoder, through the optional peer @huggingface/transformers. Files on disk are
// used as they are; nothing is downloaded unless that was allowed.

import { existsSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import type { Embedder } from './embedder.js';

/** Where a model is, and what may be done to get it. */
export interface TransformersOptions {
  /** Absolute: a directory with `config.json`, or one with `<organisation>/<name>/config.json` below it. */
  modelPath?: string | undefined;
  /** Default: `'Xenova/all-MiniLM-L6-v2'`. */
  model?: string | undefined;
  /** Whether the model is fetched from the model hub when it is not on disk. Default: false. */
  allowDownload?: boolean | undefined;
  /** How `@huggingface/transformers` is loaded. Default: `import()`; for programs that keep it elsewhere. */
  load?: (() => Promise<unknown>) | undefined;
  /** Gets what is being loaded, 0 to 1. */
  onProgress?: ((progress: number, what: string) => void) | undefined;
}

export const DEFAULT_MODEL = 'Xenova/all-MiniLM-L6-v2';
const PEER = '@huggingface/transformers';
/** A first guess for MiniLM, whose weights no package ships: see docs/memory-embedders.md. */
const FUSION_WEIGHT = 0.5;
/** What MiniLM was trained with; longer texts are cut into parts before they come here. */
const MAX_TOKENS = 256;

/** What we use of the peer, whose own types are not needed to build this package. */
interface Transformers {
  env: { localModelPath: string; allowRemoteModels: boolean; allowLocalModels: boolean };
  pipeline: (task: 'feature-extraction', model: string, options: object) => Promise<Extractor>;
}
interface Extractor {
  (texts: string[], options: { pooling: 'mean'; normalize: true }): Promise<{ dims: number[]; data: Float32Array }>;
  dispose(): Promise<unknown>;
}

/** The directory of a model on disk; undefined when it is not there. */
function localModel(modelPath: string | undefined, model: string): string | undefined {
  if (modelPath === undefined) return undefined;
  return [join(modelPath, model), modelPath].find((directory) => existsSync(join(directory, 'config.json')));
}

/**
 * Opens the model.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a relative modelPath; UNAVAILABLE, with what to do, when the peer is not
 *   installed or the model is not there
 */
export async function openTransformersEmbedder(options: TransformersOptions = {}): Promise<Embedder> {
  const { modelPath, model = DEFAULT_MODEL, allowDownload = false, onProgress } = options;
  if (modelPath !== undefined && !isAbsolute(modelPath)) {
    throw new ToolError('INVALID_ARGUMENT', `modelPath must be absolute, and is "${modelPath}".`);
  }
  const local = localModel(modelPath, model);
  if (!local && !allowDownload) {
    const where = modelPath === undefined ? 'no modelPath is given' : `${modelPath} holds no config.json`;
    throw new ToolError('UNAVAILABLE', `The model ${model} is not on disk: ${where}, and allowDownload is not set.`);
  }
  const { env, pipeline } = await loadPeer(options.load);
  if (local !== undefined) env.localModelPath = dirname(local);
  env.allowLocalModels = local !== undefined;
  env.allowRemoteModels = local === undefined;
  const dtype = local === undefined || existsSync(join(local, 'onnx/model_quantized.onnx')) ? 'q8' : 'fp32';
  const extractor = await pipeline('feature-extraction', local === undefined ? model : basename(local), {
    dtype,
    device: 'cpu',
    session_options: { intraOpNumThreads: 2 }, // more would take the cores that the engine needs
    progress_callback: (event: { status?: string; progress?: number; file?: string }) => {
      if (event.status === 'progress') onProgress?.((event.progress ?? 0) / 100, `${model}: ${event.file ?? ''}`);
    },
  }).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ToolError('UNAVAILABLE', `The model ${local ?? model} could not be loaded: ${reason}`, { cause: error });
  });
  const embed = async (texts: readonly string[]): Promise<Float32Array[]> => {
    const { dims, data } = await extractor([...texts], { pooling: 'mean', normalize: true });
    const width = dims[dims.length - 1]!;
    return texts.map((_, i) => data.slice(i * width, (i + 1) * width));
  };
  const [probe] = await embed(['dimensions']); // what a model says of its size is not the same in each
  return {
    id: `transformers:${local === modelPath ? basename(local ?? '') : model} ${dtype} ${probe!.length}`.slice(0, 200),
    dim: probe!.length,
    fusionWeight: FUSION_WEIGHT,
    maxTokens: MAX_TOKENS,
    embed,
    dispose: async () => void (await extractor.dispose()),
  };
}

async function loadPeer(load: () => Promise<unknown> = () => import(PEER)): Promise<Transformers> {
  try {
    return (await load()) as Transformers;
  } catch (error) {
    throw new ToolError('UNAVAILABLE', `${PEER} is not installed: npm install ${PEER}.`, { cause: error });
  }
}
