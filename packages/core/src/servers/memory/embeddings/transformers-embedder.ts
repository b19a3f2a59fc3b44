// all-MiniLM-L6-v2, or another sentence encoder, through the optional peer dependency @huggingface/transformers. Nothing is
// downloaded unless the host allows it.

import { existsSync } from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import type { Embedder } from './embedder.js';

/** Where the model is, and whether it may be downloaded. */
export interface TransformersOptions {
  /** Absolute: a directory with `config.json`, or one with `<organisation>/<name>/config.json` below it. */
  modelPath?: string | undefined;
  /** Default: `'Xenova/all-MiniLM-L6-v2'`. */
  model?: string | undefined;
  /** Whether to download the model from the model hub if it is not on disk. Default: false. */
  allowDownload?: boolean | undefined;
  /** Loads `@huggingface/transformers`, for programs that have it elsewhere. Default: `import()`. */
  load?: (() => Promise<unknown>) | undefined;
  /** Receives how much is loaded, 0 to 1, and what. */
  onProgress?: ((progress: number, what: string) => void) | undefined;
}

export const DEFAULT_MODEL = 'Xenova/all-MiniLM-L6-v2';
const PEER = '@huggingface/transformers';
/** An estimate, as MiniLM's weights are not available for the evaluation: see docs/memory-embedders.md. */
const FUSION_WEIGHT = 0.5;
/** The window that MiniLM was trained with; longer texts are split before they are passed here. */
const MAX_TOKENS = 256;

/** The used part of the peer dependency, whose types are not needed to build this package. */
interface Transformers {
  env: { localModelPath: string; allowRemoteModels: boolean; allowLocalModels: boolean };
  pipeline: (task: 'feature-extraction', model: string, options: object) => Promise<Extractor>;
}
interface Extractor {
  (texts: string[], options: { pooling: 'mean'; normalize: true }): Promise<{ dims: number[]; data: Float32Array }>;
  dispose(): Promise<unknown>;
}

/** The directory of a model on disk; undefined if it is missing. */
function localModel(modelPath: string | undefined, model: string): string | undefined {
  if (modelPath === undefined) return undefined;
  return [join(modelPath, model), modelPath].find((directory) => existsSync(join(directory, 'config.json')));
}

/**
 * Opens the model.
 *
 * @throws {ToolError} INVALID_ARGUMENT when modelPath is relative; UNAVAILABLE, with what to do, when the peer dependency is
 *   not installed or the model is missing
 */
export async function openTransformersEmbedder(options: TransformersOptions = {}): Promise<Embedder> {
  const { modelPath, model = DEFAULT_MODEL, allowDownload = false, onProgress } = options;
  if (modelPath !== undefined && !isAbsolute(modelPath)) {
    throw new ToolError('INVALID_ARGUMENT', `modelPath must be an absolute path, not "${modelPath}".`);
  }
  const local = localModel(modelPath, model);
  if (!local && !allowDownload) {
    const why = modelPath === undefined ? 'modelPath is not set' : `${modelPath} contains no config.json`;
    throw new ToolError('UNAVAILABLE', `The model ${model} is not on disk: ${why}, and allowDownload is not set.`);
  }
  const { env, pipeline } = await loadPeer(options.load);
  if (local !== undefined) env.localModelPath = dirname(local);
  env.allowLocalModels = local !== undefined;
  env.allowRemoteModels = local === undefined;
  const dtype = local === undefined || existsSync(join(local, 'onnx/model_quantized.onnx')) ? 'q8' : 'fp32';
  const extractor = await pipeline('feature-extraction', local === undefined ? model : basename(local), {
    dtype,
    device: 'cpu',
    session_options: { intraOpNumThreads: 2 }, // leaves the other cores to the host
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
  const [probe] = await embed(['dimensions']); // models declare their dimensions in different ways
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
    throw new ToolError('UNAVAILABLE', `${PEER} is not installed. Run npm install ${PEER}.`, { cause: error });
  }
}
