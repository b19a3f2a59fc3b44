// The rounds of MCP 2026-07-28: a server that requires input ends the request with `input_required`, and the client sends it
// again with the answers. https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr

import { setMaxListeners } from 'node:events';
import type { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import type { InputAnswer, InputRound } from '../../contract/tool-provider.js';
import { plainText } from '../../contract/sanitize.js';
import type { ServerRequests } from './server-requests.js';

const MAX_ROUNDS = 8;
const MAX_REQUESTS = 32;
const MAX_STATE_BYTES = 64 * 1024;

/** What the rounds of one request need. */
export interface RoundsOptions {
  params: JsonObject;
  scope: CallScope;
  requests: ServerRequests;
  /** Sends the request with these parameters. */
  send: (params: JsonObject) => Promise<JsonObject>;
}

/**
 * Sends a request, answers the rounds that the server requires, and returns the final result. With `scope.relay`, the first
 * round is passed to the caller instead, and the request fails with `CANCELLED`.
 *
 * @throws {ToolError} PROTOCOL_VIOLATION for a malformed round, EXECUTION_FAILED when a round cannot be answered; and what
 *   `send` throws
 */
export async function requestInRounds({ params, scope, requests, send }: RoundsOptions): Promise<JsonObject> {
  let result = await send({ ...params, ...answerParams(scope.relay?.answer) });
  for (let rounds = 1; result.resultType === 'input_required'; rounds++) {
    const round = roundOf(result);
    if (scope.relay) {
      scope.relay.onRound(round);
      throw new ToolError('CANCELLED', 'The server requires input; call again with the answer.');
    }
    if (rounds > MAX_ROUNDS)
      throw new ToolError('EXECUTION_FAILED', `The server required input more than ${MAX_ROUNDS} times.`);
    const inputResponses = await answerRequests(round.inputRequests ?? {}, scope, requests);
    result = await send({ ...params, ...answerParams({ inputResponses, requestState: round.requestState }) });
  }
  return result;
}

/**
 * Answers a server's requests, by their keys. When one cannot be answered, the others are withdrawn.
 *
 * @throws {ToolError} EXECUTION_FAILED when one cannot be answered
 */
export async function answerRequests(
  inputRequests: JsonObject,
  scope: CallScope,
  requests: ServerRequests,
): Promise<JsonObject> {
  const entries = Object.entries(inputRequests);
  if (entries.length > MAX_REQUESTS) throw violation(`the server made ${entries.length} requests in one round`);
  const withdrawal = new AbortController();
  setMaxListeners(0, withdrawal.signal); // all handlers share it
  const withdraw = (error: ToolError): void => withdrawal.abort(error);
  const answers = entries.map(async ([key, request]) => {
    const { method, params = {} } = isJsonObject(request) ? request : {};
    if (typeof method !== 'string' || !isJsonObject(params))
      throw violation(`the server's request "${plainText(key, 80)}" is malformed`);
    try {
      return [key, await requests.answerFor(scope, method, params, withdrawal.signal)] as const;
    } catch (thrown) {
      if (scope.error) throw scope.error;
      const why = plainText((thrown as Error).message, 500);
      const text = `The server requires an answer to ${plainText(method, 80)}, which failed: ${why}`;
      throw new ToolError('EXECUTION_FAILED', text, { cause: thrown });
    }
  });
  scope.onEnd(withdraw);
  try {
    return Object.fromEntries(await Promise.all(answers));
  } catch (thrown) {
    withdraw(new ToolError('CANCELLED', 'Another request of the same round could not be answered.'));
    throw thrown;
  } finally {
    scope.offEnd(withdraw);
  }
}

function answerParams({ inputResponses, requestState }: InputAnswer = {}): JsonObject {
  return {
    ...(inputResponses && Object.keys(inputResponses).length > 0 && { inputResponses }),
    ...(requestState !== undefined && { requestState }),
  };
}

function roundOf({ inputRequests, requestState }: JsonObject): InputRound {
  if (inputRequests !== undefined && !isJsonObject(inputRequests)) throw violation('inputRequests is not an object');
  if (requestState !== undefined && typeof requestState !== 'string') throw violation('requestState is not a string');
  if (inputRequests === undefined && requestState === undefined)
    throw violation('input_required has neither inputRequests nor requestState');
  if (requestState !== undefined && Buffer.byteLength(requestState) > MAX_STATE_BYTES)
    throw violation(`requestState is larger than ${MAX_STATE_BYTES} bytes`);
  return { ...(inputRequests && { inputRequests }), ...(requestState !== undefined && { requestState }) };
}

function violation(what: string): ToolError {
  return new ToolError('PROTOCOL_VIOLATION', `The server broke the protocol: ${what}.`);
}
