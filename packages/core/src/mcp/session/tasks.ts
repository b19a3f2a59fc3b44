// Follows a task: a server with the tasks extension may answer a call with a handle, whose result is then polled for.
// https://modelcontextprotocol.io/seps/2663-tasks-extension

import { setTimeout as pause } from 'node:timers/promises';
import type { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import { plainText } from '../../contract/sanitize.js';
import { answerRequests } from './input-rounds.js';
import { RpcError, SessionLostError } from './mcp-session.js';
import type { ServerRequests } from './server-requests.js';

/** The client capability that permits a server to answer with a task. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

const DEFAULT_POLL_MS = 1_000;
const MIN_POLL_MS = 20;
const MAX_POLL_MS = 60_000;

/** How often in a row a server may fail to report on a task, as while it restarts. */
const MAX_FAILED_POLLS = 3;

/** How long `tasks/cancel` may take. */
export const CANCEL_TIMEOUT_MS = 5_000;

/** What following a task needs of the call. */
export interface TaskOptions {
  scope: CallScope;
  requests: ServerRequests;
  /** Sends a request about the task. */
  send: (method: string, params: JsonObject) => Promise<JsonObject>;
  /** Sends `tasks/cancel` after the call has ended; never rejects. */
  cancel: (taskId: string) => void;
}

/**
 * Waits until a task has ended, and returns its result. A change of the task counts as progress of the call. The end of the
 * call cancels the task.
 *
 * @throws {RpcError} the error with which the task failed; {@link ToolError} when it was cancelled, or is malformed
 */
export async function followTask(created: JsonObject, options: TaskOptions): Promise<JsonObject> {
  const { scope, requests, send, cancel } = options;
  const { taskId } = created;
  if (typeof taskId !== 'string' || taskId === '') throw new ToolError('PROTOCOL_VIOLATION', 'Its task has no id.');
  const answered = new Set<string>();
  const cancelTask = (): void => cancel(taskId);
  scope.onEnd(cancelTask);
  try {
    let seen: unknown;
    let changes = 0;
    for (let task = created; ; task = await poll()) {
      const { status, statusMessage, lastUpdatedAt } = task;
      if (task.taskId !== taskId) throw new ToolError('PROTOCOL_VIOLATION', 'It reported on another task.');
      if (status === 'completed') return resultOf(task);
      if (status === 'failed') throw errorOf(task);
      if (status === 'cancelled') throw new ToolError('EXECUTION_FAILED', 'The server cancelled the task of the call.');
      if (status !== 'working' && status !== 'input_required')
        throw new ToolError('PROTOCOL_VIOLATION', `Its task has the unknown status ${plainText(String(status), 40)}.`);
      const change = JSON.stringify([status, statusMessage, lastUpdatedAt]);
      if (change !== seen) {
        const message = typeof statusMessage === 'string' ? plainText(statusMessage, 500) : undefined;
        scope.progress({ progress: changes++, ...(message !== undefined && { message }) });
      }
      seen = change;
      if (status === 'input_required') await answer(task, answered);
      await wait(pollMs(task));
    }
  } finally {
    scope.offEnd(cancelTask);
  }

  async function wait(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: scope.signal }).catch(() => undefined);
    if (scope.error) throw scope.error;
  }

  async function poll(): Promise<JsonObject> {
    for (let failures = 1; ; failures++) {
      try {
        return await send('tasks/get', { taskId });
      } catch (thrown) {
        const isTransient = thrown instanceof SessionLostError || (ToolError.isInstance(thrown) && thrown.retryable);
        if (scope.error || !isTransient || failures === MAX_FAILED_POLLS) throw lostTask(thrown);
      }
      await wait(DEFAULT_POLL_MS);
    }
  }

  /** The task was created, so that no error may invite to make the call again. */
  function lostTask(thrown: unknown): Error {
    if (scope.error) return scope.error;
    const why = plainText(thrown instanceof Error ? thrown.message : String(thrown), 1_000);
    const text = `The task of the call was not followed to its end, so the call may have run: ${why}`;
    return new ToolError('OUTCOME_UNKNOWN', text, { cause: thrown });
  }

  /** A server lists a request until it has processed its answer, so each key is answered once. */
  async function answer({ inputRequests }: JsonObject, before: Set<string>): Promise<void> {
    const open = Object.entries(isJsonObject(inputRequests) ? inputRequests : {}).filter(([key]) => !before.has(key));
    if (open.length === 0) return;
    const inputResponses = await answerRequests(Object.fromEntries(open), scope, requests);
    for (const [key] of open) before.add(key);
    await send('tasks/update', { taskId, inputResponses }).catch((thrown: unknown) => Promise.reject(lostTask(thrown)));
  }
}

function pollMs({ pollIntervalMs }: JsonObject): number {
  const wanted = typeof pollIntervalMs === 'number' ? pollIntervalMs : DEFAULT_POLL_MS;
  return Math.min(Math.max(wanted, MIN_POLL_MS), MAX_POLL_MS);
}

function resultOf({ result }: JsonObject): JsonObject {
  if (isJsonObject(result) && (result.resultType === undefined || result.resultType === 'complete')) return result;
  throw new ToolError('PROTOCOL_VIOLATION', 'Its completed task has no final result.');
}

function errorOf({ error }: JsonObject): Error {
  const { code, message, data } = isJsonObject(error) ? error : {};
  const text = plainText(typeof message === 'string' ? message : 'The task failed and gave no message.', 8_000);
  return new RpcError(Number.isSafeInteger(code) ? (code as number) : -32_603, text, data);
}
