// What the engine's thread and the memory thread say to each other. Calls are answered in any order, each once.

import type { ToolErrorInfo } from '../../../contract/errors.js';
import type { MessagePort } from 'node:worker_threads';
import type { EmbedderDescription } from '../embeddings/remote-embedder.js';
import type { MemoryConfig, MemoryService } from './memory-service.js';

/** The calls there are: methods of {@link MemoryService}. */
export type MemoryMethod = Exclude<keyof MemoryService, 'close' | 'takeNotices'>;

export type MethodArguments<Method extends MemoryMethod> = Parameters<MemoryService[Method]>[0];
export type MethodResult<Method extends MemoryMethod> = Awaited<ReturnType<MemoryService[Method]>>;

/** What the thread is started with. The port leads to the caller's own embedder. */
export type ThreadData =
  { config: MemoryConfig } | { config: MemoryConfig; embedder: EmbedderDescription; port: MessagePort };

/** To the thread. `'close'` is the last message, and is answered by its end. */
export type ThreadRequest =
  | { kind: 'call'; id: number; method: MemoryMethod; args: unknown }
  | { kind: 'cancel'; id: number }
  | { kind: 'close' };

/** From the thread. A result goes as JSON, which is made and read in half the time that a structured clone takes. */
export type ThreadReply =
  | { kind: 'result'; id: number; json: string | undefined; notices: string[] }
  | { kind: 'error'; id: number; error: ToolErrorInfo; notices: string[] }
  | { kind: 'progress'; id: number; done: number; message: string };
