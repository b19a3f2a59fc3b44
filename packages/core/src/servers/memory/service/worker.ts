// The program of the memory thread. Databases, vectors and embedders are used here, so that the host's thread never waits for
// the disk.

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { ToolError } from '../../../contract/errors.js';
import { remoteEmbedder } from '../embeddings/remote-embedder.js';
import { MemoryService, performMethod } from './memory-service.js';
import type { ThreadData, ThreadReply, ThreadRequest } from './thread-protocol.js';
import type { CallContext } from './call-context.js';

const port = parentPort;
if (!port) throw new Error('This module must run in a worker thread.');

const data = workerData as ThreadData;
const service = new MemoryService(
  data.config,
  undefined,
  'port' in data ? remoteEmbedder(data.embedder, data.port) : undefined,
);
const waiting: Extract<ThreadRequest, { kind: 'call' }>[] = [];
const running = new Map<number, AbortController>();
let isScheduled = false;

port.on('message', (request: ThreadRequest) => {
  onRequest(request);
  // Reads all queued messages, so that a cancellation that arrived with its call takes effect before the call starts.
  for (let more = receiveMessageOnPort(port); more; more = receiveMessageOnPort(port))
    onRequest(more.message as ThreadRequest);
  if (!isScheduled) startNext();
});

function onRequest(request: ThreadRequest): void {
  if (request.kind === 'call') waiting.push(request);
  else if (request.kind === 'cancel') {
    const index = waiting.findIndex(({ id }) => id === request.id);
    if (index >= 0) waiting.splice(index, 1);
    running.get(request.id)?.abort();
  } else void end();
}

/** Starts one call, and the next one in the next turn of the event loop, so that messages are read in between. */
function startNext(): void {
  const call = waiting.shift();
  isScheduled = waiting.length > 0;
  if (isScheduled) setImmediate(startNext);
  if (call) void run(call);
}

async function run({ id, method, args }: Extract<ThreadRequest, { kind: 'call' }>): Promise<void> {
  const controller = new AbortController();
  running.set(id, controller);
  const call: CallContext = {
    signal: controller.signal,
    progress: (done, message) => reply({ kind: 'progress', id, done, message }),
  };
  try {
    const result = await performMethod(service, method, args, call);
    reply({ kind: 'result', id, json: jsonOf(result), notices: service.takeNotices() });
  } catch (thrown) {
    const error = ToolError.from(thrown, 'INTERNAL').toInfo();
    reply({ kind: 'error', id, error, notices: service.takeNotices() });
  } finally {
    running.delete(id);
  }
}

/** The JSON of memories that were sent before and have not changed. */
const jsonByMemory = new WeakMap<object, string>();

/** The result as JSON. For a list of memories, cached JSON is used: writing it takes longer than reading the database. */
function jsonOf(result: unknown): string | undefined {
  if (!Array.isArray(result)) return JSON.stringify(result);
  const elements = (result as object[]).map((element) => {
    let json = jsonByMemory.get(element);
    if (json === undefined) jsonByMemory.set(element, (json = JSON.stringify(element)));
    return json;
  });
  return `[${elements.join(',')}]`;
}

/** Closes everything, after which the thread has nothing to wait for and exits. */
async function end(): Promise<void> {
  waiting.length = 0;
  for (const controller of running.values()) controller.abort();
  await service.close();
  port?.close();
}

function reply(message: ThreadReply): void {
  port?.postMessage(message);
}
