/**
 * The memory server alone: memories that outlive a session, found by words and by meaning. Loads no other server. The
 * types of a custom backend and a custom embedder are here too.
 *
 * @example
 * ```ts
 * import { InProcessToolProvider, textOf } from '@toolwright/core';
 * import { createMemoryServer } from '@toolwright/core/servers/memory';
 *
 * const server = createMemoryServer({ projectDir: process.cwd() });
 * await using provider = new InProcessToolProvider({ servers: [server] });
 * const result = await provider.callTool('memory.retrieve', { query: 'how releases are made' });
 * console.log(textOf(result));
 * ```
 * @module
 */

import { isAbsolute, join, resolve } from 'node:path';
import { ToolError } from '../../contract/errors.js';
import { assertOptions, type OptionNames } from '../../contract/options.js';
import type { Tool } from '../../tool/define-tool.js';
import { defineServer, type ToolServer } from '../../tool/define-server.js';
import { outputLimits, type OutputLimits } from '../project/output-budget.js';
import {
  PROJECT_FILES_OPTIONS,
  projectFilesOf,
  type ProjectFiles,
  type ProjectFilesOptions,
} from '../project/project-files.js';
import { bankFetchTool } from './tools/bank-fetch.js';
import type { MemoryContext } from './memory-context.js';
import { deleteTool } from './tools/delete.js';
import { exportTool } from './tools/export.js';
import { getTool } from './tools/get.js';
import { historyTool } from './tools/history.js';
import { importTool } from './tools/import.js';
import { listTool } from './tools/list.js';
import { InThreadMemory, type BackendFactory } from './service/in-thread-memory.js';
import type { MemoryConfig } from './service/memory-service.js';
import { checkEmbedder, type Embedder } from './embeddings/embedder.js';
import { MemoryThread, type MemoryWorker } from './service/memory-thread.js';
import { restoreTool } from './tools/restore.js';
import { retrieveTool } from './tools/retrieve.js';
import { statsTool } from './tools/stats.js';
import { storeTool } from './tools/store.js';
import { updateTool } from './tools/update.js';

export type {
  BackendStats,
  DuplicateRule,
  ImportOutcome,
  ListPosition,
  MemoryBackend,
  MemoryChange,
  MemoryDraft,
  MemoryFilter,
  MemoryPatch,
  MemoryRecord,
  MemoryScope,
  MemorySort,
  MemoryVector,
  MemoryVersion,
  PutOutcome,
  QuarantinedFile,
  VectorCodes,
  WordHit,
} from './memory-backend.js';
export type { Embedder, EmbeddingKind } from './embeddings/embedder.js';
export type { BackendFactory } from './service/in-thread-memory.js';
export type { OutputLimits } from '../project/output-budget.js';

/** The default categories of memories. */
export const MEMORY_CATEGORIES = ['technical', 'deployment', 'preference', 'bug', 'ways_of_working'] as const;

/** Options of {@link createMemoryServer}. */
export interface MemoryServerOptions extends ProjectFilesOptions {
  /**
   * The directory of the memories that all projects share, as an absolute path such as `/home/ada/.mcp-memory`. The first
   * memory of scope `global` creates it. Default: none; calls with scope `global` are rejected.
   */
  globalDir?: string | undefined;
  /**
   * The categories that a memory may have, 1 to 50 names of at most 100 characters. Default: `technical`, `deployment`,
   * `preference`, `bug`, `ways_of_working`.
   */
  categories?: readonly string[] | undefined;
  /**
   * The names of the tools. `'memcp'`: five tools have the names that they had in earlier memory servers: `memcp_store`,
   * `memcp_retrieve`, `memcp_list`, `memcp_update` and `memcp_delete`. Default: `'memory'`, plain names.
   */
  names?: 'memory' | 'memcp' | undefined;
  /**
   * `'normal'`: a killed process loses nothing that was confirmed; a power failure may lose the last seconds. `'full'`: a
   * power failure loses nothing either, and each change waits for the disk. Default: `'normal'`.
   */
  durability?: 'normal' | 'full' | undefined;
  /** What happens to a content with a likely secret: the secret is redacted, or the call is rejected. Default: `'redact'`. */
  secrets?: 'redact' | 'refuse' | undefined;
  /** `'seed'` ranks by `cosine + 0.1 x keyword matches`, as earlier memory servers did. Default: `'fused'`. */
  ranking?: 'fused' | 'seed' | undefined;
  /**
   * The embedder that finds memories by meaning. `'auto'`: all-MiniLM-L6-v2 if `modelPath` or `allowDownload` provides it,
   * else the built-in model. `'static'`: the built-in model. `'off'`: search by words only. Or a custom embedder, which is
   * called in this thread. Default: `'auto'`.
   */
  embedder?: 'auto' | 'static' | 'off' | Embedder | undefined;
  /**
   * The directory of a sentence encoder in ONNX form, absolute, with `config.json`, `tokenizer.json` and
   * `onnx/model_quantized.onnx`, or a directory that contains it as `Xenova/all-MiniLM-L6-v2`. Needs
   * `@huggingface/transformers`.
   * Default: none.
   */
  modelPath?: string | undefined;
  /** Whether `@huggingface/transformers` may download the model from the model hub, once. Default: false. */
  allowDownload?: boolean | undefined;
  /**
   * Returns the store of a scope, to store memories elsewhere than in SQLite files. It is used in this thread and closed
   * with the server. Default: none.
   */
  backend?: BackendFactory | undefined;
  /** The limits of one result's text, at least 1 line and 1 KiB. Default: 2,000 lines, 50 KiB. */
  output?: Partial<OutputLimits> | undefined;
  /** The project's files, shared with other servers; replaces the project options here. Default: created from those. */
  projectFiles?: ProjectFiles | undefined;
}

const TOOLS: readonly ((context: MemoryContext) => Tool)[] = [
  storeTool,
  retrieveTool,
  listTool,
  updateTool,
  deleteTool,
  getTool,
  restoreTool,
  historyTool,
  importTool,
  exportTool,
  statsTool,
  bankFetchTool,
];

/** The tools that `names: 'memcp'` prefixes. */
const MEMCP_NAMES = ['store', 'retrieve', 'list', 'update', 'delete'];
const MAX_CATEGORIES = 50;
const MAX_CATEGORY_CHARS = 100;

const OPTIONS: OptionNames<MemoryServerOptions> = {
  ...PROJECT_FILES_OPTIONS,
  globalDir: true,
  categories: true,
  names: true,
  durability: true,
  secrets: true,
  ranking: true,
  embedder: true,
  modelPath: true,
  allowDownload: 'boolean',
  backend: 'function',
  output: true,
  projectFiles: true,
};

/**
 * Creates the server of the memory tools. Nothing is opened or created before the first call, reading creates nothing, and
 * the databases are used in a separate thread.
 *
 * @throws {ToolError} INVALID_ARGUMENT for an invalid option, or a project directory that is relative, missing or too wide
 * @example
 * ```ts
 * await using provider = new InProcessToolProvider({ servers: [createMemoryServer({ projectDir: '/work/shop' })] });
 * await provider.callTool('memory.store', { content: 'Deploys need the VPN.', category: 'deployment' });
 * const found = await provider.callTool('memory.retrieve', { query: 'how do I deploy' });
 * ```
 */
export function createMemoryServer(options: MemoryServerOptions): ToolServer {
  assertOptions('createMemoryServer()', options, OPTIONS);
  const files = projectFilesOf(options);
  const { names = 'memory', categories = MEMORY_CATEGORIES, backend } = options;
  const { embedder = 'auto', durability = 'normal', secrets = 'redact', ranking = 'fused' } = options;
  const customEmbedder = typeof embedder === 'string' ? undefined : embedder;
  if (customEmbedder !== undefined) checkEmbedder(customEmbedder);
  const config: MemoryConfig = {
    projectDir: files.scope.projectDir,
    verification: files.scope.verification,
    globalDir: globalDirectory(options.globalDir, files.scope.projectDir),
    durability: oneOf('durability', durability, ['normal', 'full']),
    secrets: oneOf('secrets', secrets, ['redact', 'refuse']),
    ranking: oneOf('ranking', ranking, ['fused', 'seed']),
    embedder: typeof embedder === 'string' ? oneOf('embedder', embedder, ['auto', 'static', 'off']) : 'custom',
    modelPath: modelDirectory(options.modelPath),
    allowDownload: options.allowDownload === true,
  };
  oneOf('names', names, ['memory', 'memcp']);
  const limits = outputLimits('createMemoryServer()', options.output);
  const context: MemoryContext = {
    files,
    categories: categoryNames(categories),
    limits,
    hasGlobal: config.globalDir !== undefined || backend !== undefined,
    toolName: (name) => (names === 'memcp' && MEMCP_NAMES.includes(name) ? `memcp_${name}` : name),
  };
  const server = defineServer<MemoryWorker>({
    name: 'memory',
    version: '0.2.0',
    tools: TOOLS.map((make) => make(context)),
    start: () =>
      backend
        ? new InThreadMemory(config, backend, customEmbedder)
        : new MemoryThread(config, undefined, customEmbedder),
    stop: (worker) => worker.close(),
  });
  return server as unknown as ToolServer; // the type of its state is private
}

function globalDirectory(given: unknown, projectDir: string): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'string' || !isAbsolute(given) || given.includes('\0'))
    throw wrong(`globalDir must be an absolute path, not ${JSON.stringify(given)}. "~" is not expanded.`);
  const directory = resolve(given);
  if (directory === join(projectDir, '.mcp-memory'))
    throw wrong(
      `globalDir must not be the project's .mcp-memory directory, as all projects share the global memories.`,
    );
  return directory;
}

function modelDirectory(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given === 'string' && isAbsolute(given) && !given.includes('\0')) return given;
  throw wrong(`modelPath must be an absolute path, not ${JSON.stringify(given)}.`);
}

function categoryNames(given: readonly string[]): readonly string[] {
  const isValid = (name: unknown): boolean =>
    typeof name === 'string' && name.trim() !== '' && name.length <= MAX_CATEGORY_CHARS;
  if (Array.isArray(given) && given.length >= 1 && given.length <= MAX_CATEGORIES && given.every(isValid))
    return [...new Set<string>(given)];
  throw wrong(
    `categories must be 1 to ${MAX_CATEGORIES} names of at most ${MAX_CATEGORY_CHARS} characters, not ${JSON.stringify(given)?.slice(0, 200)}.`,
  );
}

/** Rejects other values, which JavaScript and JSON configuration may pass, instead of using the default. */
function oneOf<const Value extends string>(name: string, value: Value, values: readonly Value[]): Value {
  if (values.includes(value)) return value;
  throw wrong(`${name} must be one of ${values.join(', ')}, not ${JSON.stringify(value)}.`);
}

function wrong(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', message);
}
