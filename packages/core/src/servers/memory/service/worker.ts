// The memory thread: databases, vectors and embedders live here, so that the engine's thread never waits for a disk.

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { ToolError } from '../../../contract/errors.js';
import { remoteEmbedder } from '../embeddings/remote-embedder.js';
import { MemoryService, performMethod } from './memory-service.js';
import type { ThreadData, ThreadReply, ThreadRequest } from './thread-protocol.js';
import type { Watch } from '../transfer/legacy-import.js';

const port = parentPort;
if (!port) throw new Error('This module is the program of a thread.');

const data = workerData as ThreadData;
const service = new MemoryService(
  data.config,
  undefined,
  'port' in data ? remoteEmbedder(data.embedder, data.port) : undefined,
);
const waiting: Extract<ThreadRequest, { kind: 'call' }>[] = [];
const running = new Map<number, AbortController>();
let isAwake = false;

port.on('message', (request: ThreadRequest) => {
  hear(request);
  // A cancel that came with its call is heard before that begins.
  for (let more = receiveMessageOnPort(port); more; more = receiveMessageOnPort(port))
    hear(more.message as ThreadRequest);
  if (!isAwake) begin();
});

function hear(request: ThreadRequest): void {
  if (request.kind === 'call') waiting.push(request);
  else if (request.kind === 'cancel') {
    const index = waiting.findIndex(({ id }) => id === request.id);
    if (index >= 0) waiting.splice(index, 1);
    running.get(request.id)?.abort();
  } else void end();
}

/** Begins one call, and each of the others a turn later: what comes meanwhile is heard between them. */
function begin(): void {
  const call = waiting.shift();
  isAwake = waiting.length > 0;
  if (isAwake) setImmediate(begin);
  if (call) void run(call);
}

async function run({ id, method, args }: Extract<ThreadRequest, { kind: 'call' }>): Promise<void> {
  const controller = new AbortController();
  running.set(id, controller);
  const watch: Watch = {
    signal: controller.signal,
    progress: (done, message) => reply({ kind: 'progress', id, done, message }),
  };
  try {
    const result = await performMethod(service, method, args, watch);
    reply({ kind: 'result', id, json: jsonOf(result), notices: service.takeNotices() });
  } catch (thrown) {
    const error = ToolError.from(thrown, 'INTERNAL').toInfo();
    reply({ kind: 'error', id, error, notices: service.takeNotices() });
  } finally {
    running.delete(id);
  }
}

/** Memories as they went before, when they are the same ones. */
const written = new WeakMap<object, string>();

/** As JSON. A list of memories is made of theirs, which take longer to write than to read from the database. */
function jsonOf(result: unknown): string | undefined {
  if (!Array.isArray(result)) return JSON.stringify(result);
  const elements = (result as object[]).map((element) => {
    let json = written.get(element);
    if (json === undefined) written.set(element, (json = JSON.stringify(element)));
    return json;
  });
  return `[${elements.join(',')}]`;
}

/** Ends the thread by leaving it nothing to wait for. */
async function end(): Promise<void> {
  waiting.length = 0;
  for (const controller of running.values()) controller.abort();
  await service.close();
  port?.close();
}

function reply(message: ThreadReply): void {
  port?.postMessage(message);
}
