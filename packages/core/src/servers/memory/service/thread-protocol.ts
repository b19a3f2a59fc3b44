// The messages between the host's thread and the memory thread. Each call gets one reply, in any order.

import type { ToolErrorInfo } from '../../../contract/errors.js';
import type { MessagePort } from 'node:worker_threads';
import type { EmbedderDescription } from '../embeddings/remote-embedder.js';
import type { MemoryConfig, MemoryService } from './memory-service.js';

/** The methods of {@link MemoryService} that can be called. */
export type MemoryMethod = Exclude<keyof MemoryService, 'close' | 'takeNotices'>;

export type MethodArguments<Method extends MemoryMethod> = Parameters<MemoryService[Method]>[0];
export type MethodResult<Method extends MemoryMethod> = Awaited<ReturnType<MemoryService[Method]>>;

/** The thread's `workerData`. The port leads to the host's embedder. */
export type ThreadData =
  { config: MemoryConfig } | { config: MemoryConfig; embedder: EmbedderDescription; port: MessagePort };

/** To the thread. `'close'` is the last message; the thread exits in response. */
export type ThreadRequest =
  | { kind: 'call'; id: number; method: MemoryMethod; args: unknown }
  | { kind: 'cancel'; id: number }
  | { kind: 'close' };

/** From the thread. Results are sent as JSON, which takes half the time of a structured clone. */
export type ThreadReply =
  | { kind: 'result'; id: number; json: string | undefined; notices: string[] }
  | { kind: 'error'; id: number; error: ToolErrorInfo; notices: string[] }
  | { kind: 'progress'; id: number; done: number; message: string };
