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
import { MemoryBeside, type BackendFactory } from './service/in-thread-memory.js';
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
  SetAsideRecord,
  VectorCodes,
  WordHit,
} from './memory-backend.js';
export type { Embedder, EmbeddingKind } from './embeddings/embedder.js';
export type { BackendFactory } from './service/in-thread-memory.js';
export type { OutputLimits } from '../project/output-budget.js';

/** The categories of memories, unless the server is given others. */
export const MEMORY_CATEGORIES = ['technical', 'deployment', 'preference', 'bug', 'ways_of_working'] as const;

/** What {@link createMemoryServer} takes. */
export interface MemoryServerOptions extends ProjectFilesOptions {
  /**
   * The directory of the memories that every project sees, absolute, such as `~/.mcp-memory` written out. It is made by
   * the first memory of scope `global`. Default: none, and `global` is refused.
   */
  globalDir?: string | undefined;
  /**
   * The categories that a memory may have, 1 to 50 names of at most 100 characters. Default: `technical`, `deployment`,
   * `preference`, `bug`, `ways_of_working`.
   */
  categories?: readonly string[] | undefined;
  /**
   * What the tools are called: `'memcp'` names the five that earlier memory servers had `memcp_store`, `memcp_retrieve`,
   * `memcp_list`, `memcp_update` and `memcp_delete`. Default: `'memory'`, plain names.
   */
  names?: 'memory' | 'memcp' | undefined;
  /**
   * `'normal'`: a process that is killed loses nothing that was answered, a power failure may lose the last seconds.
   * `'full'`: that neither, and each change waits for the disk. Default: `'normal'`.
   */
  durability?: 'normal' | 'full' | undefined;
  /** What happens to a content with what reads like a secret: that is redacted, or the call refused. Default: `'redact'`. */
  secrets?: 'redact' | 'refuse' | undefined;
  /** `'seed'` orders by `cosine + 0.1 x keyword matches`, as earlier memory servers did. Default: `'fused'`. */
  ranking?: 'fused' | 'seed' | undefined;
  /**
   * What finds memories by their meaning. `'auto'`: all-MiniLM-L6-v2 where `modelPath` or `allowDownload` give it, else the
   * model that is built in. `'static'`: that one. `'off'`: words only. Or one of yours, which is called in this thread.
   * Default: `'auto'`.
   */
  embedder?: 'auto' | 'static' | 'off' | Embedder | undefined;
  /**
   * The directory of a sentence encoder in ONNX form, absolute, with `config.json`, `tokenizer.json` and
   * `onnx/model_quantized.onnx`, or one that has it as `Xenova/all-MiniLM-L6-v2`. Needs `@huggingface/transformers`.
   * Default: none.
   */
  modelPath?: string | undefined;
  /** Whether `@huggingface/transformers` may fetch the model from the model hub, once. Default: false. */
  allowDownload?: boolean | undefined;
  /**
   * Keeps the memories elsewhere than in SQLite files: gives the store of a scope. It runs in the engine's own thread,
   * and is closed with the server. Default: none.
   */
  backend?: BackendFactory | undefined;
  /** The text that one answer may have; at least 1 line and 1 KiB. Default: 2,000 lines, 50 KiB. */
  output?: Partial<OutputLimits> | undefined;
  /** The files of the project, shared with other servers. Default: made from the project options here, which it replaces. */
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

/** The tools that earlier servers had, under the prefix that they had. */
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
  allowDownload: true,
  backend: true,
  output: true,
  projectFiles: true,
};

/**
 * The tools over the memories of one project and of its user. Nothing is opened or made before the first call, nothing
 * is made by reading, and the databases are used in a thread of their own.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a project directory that is relative, missing or too wide, or a wrong option
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
  const { embedder = 'auto' } = options;
  const own = typeof embedder === 'string' ? undefined : embedder;
  if (own !== undefined) checkEmbedder(own);
  const config: MemoryConfig = {
    projectDir: files.scope.projectDir,
    verification: files.scope.verification,
    globalDir: globalDirectory(options.globalDir, files.scope.projectDir),
    durability: oneOf('durability', options.durability ?? 'normal', ['normal', 'full']),
    secrets: oneOf('secrets', options.secrets ?? 'redact', ['redact', 'refuse']),
    ranking: oneOf('ranking', options.ranking ?? 'fused', ['fused', 'seed']),
    embedder: typeof embedder === 'string' ? oneOf('embedder', embedder, ['auto', 'static', 'off']) : 'own',
    modelPath: modelDirectory(options.modelPath),
    allowDownload: options.allowDownload === true,
  };
  oneOf('names', names, ['memory', 'memcp']);
  const limits = outputLimits('createMemoryServer()', options.output);
  if (backend !== undefined && typeof backend !== 'function') throw wrong('backend must be a function of the scope.');
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
    start: () => (backend ? new MemoryBeside(config, backend, own) : new MemoryThread(config, undefined, own)),
    stop: (worker) => worker.close(),
  });
  return server as unknown as ToolServer; // its state is its own
}

function globalDirectory(given: unknown, projectDir: string): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== 'string' || !isAbsolute(given) || given.includes('\0'))
    throw wrong(`globalDir must be an absolute path, not ${JSON.stringify(given)}. Write "~" out.`);
  const directory = resolve(given);
  if (directory === join(projectDir, '.mcp-memory'))
    throw wrong(`globalDir must not be the project's own .mcp-memory: what is global is seen by every project.`);
  return directory;
}

function modelDirectory(given: unknown): string | undefined {
  if (given === undefined) return undefined;
  if (typeof given === 'string' && isAbsolute(given) && !given.includes('\0')) return given;
  throw wrong(`modelPath must be an absolute path, not ${JSON.stringify(given)}.`);
}

function categoryNames(given: readonly string[]): readonly string[] {
  const isRight = (name: unknown): boolean =>
    typeof name === 'string' && name.trim() !== '' && name.length <= MAX_CATEGORY_CHARS;
  if (Array.isArray(given) && given.length >= 1 && given.length <= MAX_CATEGORIES && given.every(isRight))
    return [...new Set<string>(given)];
  throw wrong(
    `categories must be 1 to ${MAX_CATEGORIES} names of at most ${MAX_CATEGORY_CHARS} characters, not ${JSON.stringify(given)?.slice(0, 200)}.`,
  );
}

/** A word that is none of them (JavaScript, JSON configuration) must not read as the default. */
function oneOf<const Value extends string>(name: string, value: Value, values: readonly Value[]): Value {
  if (values.includes(value)) return value;
  throw wrong(`${name} must be one of ${values.join(', ')}, not ${JSON.stringify(value)}.`);
}

function wrong(message: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', message);
}
