// Requests of one client of MCP 2026-07-28 during which it may be asked: by the policy, by a server of the earlier revisions
// in the middle of its call, or by a server of this revision. Each attempt is answered with the result or with a question.

import { ToolError, type ApprovalRequest, type InputRound, type JsonObject } from '@toolwright/core';
import { isJsonObject } from '@toolwright/core/internal';
import { ERROR_META, toWireResult } from '@toolwright/core/mcp';
import { capabilitiesRequiredBy, missingCapabilities, relayedCapabilities } from '../engines/client-capabilities.js';
import type { AnswerStream, Exchange } from '../engines/port.js';
import { completeResult, inputRequiredResult, type ModernRequest } from '../engines/v2.js';
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  rejection,
  rpcError,
  SERVER_BUSY,
} from '../rpc-error.js';
import { approvalForm, requestApproval, showsForms } from './approval-form.js';
import { HeldCall } from './held-call.js';
import { bindingOf, digestOf, type RequestState } from './request-state.js';
import type { SessionHost } from './session-host.js';
import { errorResult, type ToolCall } from './tool-calls.js';

/** Unfinished calls of one client during which a server has asked something. */
const MAX_HELD = 64;
const APPROVAL = 'approval';

/** What ended an attempt before its request was done. */
type Interruption = { readonly round: InputRound } | { readonly shown: ApprovalRequest; readonly digest: string };

/** What asking needs of the client. */
export interface AskedClient {
  /** Who may continue what the client began. */
  readonly principal: string;
  /** Runs a request other than a call, on behalf of a client that {@link callerOf} returned. */
  readonly forward: (request: ModernRequest, exchange: Exchange, caller: ToolCall['client']) => Promise<JsonObject>;
  /** The client as of the latest attempt of one request. */
  readonly callerOf: (latest: () => ModernRequest) => ToolCall['client'];
}

/** The requests of one client that may be answered with a question. */
export class AskingRequests {
  readonly #host: SessionHost;
  readonly #client: AskedClient;
  readonly #held = new Map<string, { call: HeldCall; timer: NodeJS.Timeout }>();
  /** The calls during which a server has asked something, until their result is sent or they are given up. */
  readonly #asking = new Set<HeldCall>();
  #closed = false;

  constructor(host: SessionHost, client: AskedClient) {
    this.#host = host;
    this.#client = client;
  }

  /** Ends what waits for answers. */
  close(): void {
    this.#closed = true;
    for (const { call } of [...this.#held.values()]) this.#giveUp(call);
  }

  /** Ends the held call whose latest attempt had this id; false if there is none. */
  cancel(requestId: unknown): boolean {
    const found = [...this.#held.values()].find(({ call }) => call.request.id === requestId);
    if (found) this.#giveUp(found.call);
    return found !== undefined;
  }

  /** Runs a request, or continues the one that its state names. @throws a JSON-RPC error */
  async answer(request: ModernRequest, stream: AnswerStream): Promise<JsonObject> {
    const { method, params, requestState } = request;
    const { principal } = this.#client;
    const binding = bindingOf(principal, method, params);
    let state: RequestState = {};
    if (requestState !== undefined) {
      const opened = await this.#host.states.open(requestState, binding, principal);
      if ('fault' in opened) return this.#rejectState(method, opened);
      state = opened.state;
    }
    const call = state.held === undefined ? this.#start(request, state, binding) : this.#resume(state.held);
    if (!call) return this.#outcomeUnknown(method);
    let isHeld = false;
    try {
      const attempt = await call.next(request, stream);
      if ('result' in attempt) return attempt.result;
      isHeld = this.#hold(call);
      return this.#inputRequired(attempt.inputRequests, { held: call.id }, binding);
    } finally {
      if (!isHeld) this.#asking.delete(call);
    }
  }

  #start(request: ModernRequest, state: RequestState, binding: string): HeldCall {
    const call: HeldCall = new HeldCall(request, {
      run: (exchange) => this.#run(call, state, binding, exchange),
      assertMayAsk: (method, params) => {
        if (missingCapabilities(method, params, call.request.capabilities))
          throw rpcError(METHOD_NOT_FOUND, `Declined ${method}: the client does not have the capability for it.`);
        if (!this.#asking.has(call) && this.#asking.size >= MAX_HELD)
          throw rpcError(SERVER_BUSY, `Declined ${method}: ${MAX_HELD} calls of this client wait for an answer.`);
        this.#asking.add(call);
      },
    });
    return call;
  }

  /** Runs the request to its end, or until an approval or a server's round interrupts it. */
  async #run(call: HeldCall, state: RequestState, binding: string, basic: Exchange): Promise<JsonObject> {
    const { request } = call;
    const { method, params, meta, progressToken, capabilities, inputResponses } = request;
    const { forwarding } = this.#host;
    const client = this.#client.callerOf(() => call.request);
    const approved = [...(state.approved ?? [])];
    let interruption: Interruption | undefined;
    const exchange: Exchange = {
      ...basic,
      ...(forwarding && {
        relay: {
          capabilities: relayedCapabilities(capabilities),
          ...(state.relayed && { answer: { inputResponses, requestState: state.upstream } }),
          onRound: (round: InputRound) => (interruption ??= { round }),
        },
      }),
    };
    let callId: string | undefined;
    const approve: NonNullable<ToolCall['approve']> = (shown, context) => {
      // A tool that calls another one has begun: it waits for the answer, as it must not run again.
      if (context.callId !== callId) {
        const { approvalTimeoutMs: timeoutMs } = this.#host.limits;
        return requestApproval(exchange, shown, { signal: context.signal, timeoutMs });
      }
      const digest = digestOf(shown);
      if (approved.includes(digest)) return { decision: 'once' };
      const answer = state.asked === digest ? inputResponses?.[APPROVAL] : undefined;
      if (answer !== undefined) {
        const approval = approvalForm(shown).parse(answer);
        if (approval.decision !== 'deny') approved.push(digest);
        return approval;
      }
      interruption ??= { shown, digest };
      call.end(); // before anything has run: the retry makes the call again
      return { decision: 'deny' };
    };
    let result: JsonObject | undefined;
    let failure: unknown;
    try {
      result =
        method === 'tools/call'
          ? await this.#host.calls.call({
              params,
              meta,
              progressToken,
              logs: true, // a later attempt may want them
              client,
              exchange,
              ...(showsForms(capabilities) && { approve, onCallId: (id) => (callId = id) }),
              isInterrupted: () => interruption !== undefined,
            })
          : await this.#client.forward(request, exchange, client);
    } catch (thrown) {
      failure = thrown;
    }
    if (interruption) return this.#interrupted(interruption, capabilities, approved, binding);
    const missing = capabilitiesRequiredBy(failure ?? errorOfResult(result), capabilities);
    if (missing)
      throw rejection(400, MISSING_CAPABILITY, 'The server requires capabilities that the client does not declare.', {
        requiredCapabilities: missing,
      });
    if (!result) throw failure;
    if (method === 'resources/read') return this.#complete({ ...result, ...cacheHintsOf(result) });
    return this.#complete(result);
  }

  #interrupted(
    interruption: Interruption,
    capabilities: JsonObject,
    approved: readonly string[],
    binding: string,
  ): JsonObject {
    const already = approved.length > 0 ? { approved } : {};
    if ('shown' in interruption) {
      const { shown, digest } = interruption;
      const form = { method: 'elicitation/create', params: approvalForm(shown).params };
      return this.#inputRequired({ [APPROVAL]: form }, { asked: digest, ...already }, binding);
    }
    const { inputRequests, requestState: upstream } = interruption.round;
    for (const [key, asked] of Object.entries(inputRequests ?? {})) {
      const { method, params } = (isJsonObject(asked) ? asked : {}) as { method?: string; params?: unknown };
      const missing = missingCapabilities(String(method), params, capabilities);
      if (missing)
        throw rejection(
          400,
          MISSING_CAPABILITY,
          `The server requires the input "${key.slice(0, 100)}", which needs more capabilities.`,
          {
            requiredCapabilities: missing,
          },
        );
    }
    const state = { relayed: true, ...(upstream !== undefined && { upstream }), ...already };
    return this.#inputRequired(inputRequests, state, binding);
  }

  #inputRequired(inputRequests: JsonObject | undefined, state: RequestState, binding: string): JsonObject {
    let sealed: string;
    try {
      sealed = this.#host.states.seal(state, binding);
    } catch (thrown) {
      return this.#complete(toWireResult(errorResult(ToolError.from(thrown))));
    }
    return inputRequiredResult(inputRequests, sealed, this.#host.version);
  }

  /** Waits for a retry until the oldest question expires. Returns false when the client is gone. */
  #hold(call: HeldCall): boolean {
    if (this.#closed) {
      call.end();
      return false;
    }
    const now = performance.now();
    // A retry without the answer does not renew it.
    const leftMs = (call.askedAt ?? now) + this.#host.limits.approvalTimeoutMs - now;
    const timer = setTimeout(() => this.#giveUp(call), leftMs);
    timer.unref();
    this.#held.set(call.id, { call, timer });
    return true;
  }

  #giveUp(call: HeldCall): void {
    clearTimeout(this.#held.get(call.id)?.timer);
    this.#held.delete(call.id);
    this.#asking.delete(call);
    call.end();
  }

  #resume(id: string): HeldCall | undefined {
    const held = this.#held.get(id);
    this.#held.delete(id);
    clearTimeout(held?.timer);
    return held?.call;
  }

  #rejectState(method: string, { fault, began }: { fault: string; began: boolean }): JsonObject {
    // A state that was used, or whose request a server has received, belongs to a request that may have run.
    if (fault === 'used' || (fault === 'expired' && began)) return this.#outcomeUnknown(method);
    if (fault === 'full') throw rpcError(SERVER_BUSY, 'Too many calls were answered lately. Try again later.');
    throw rejection(
      400,
      INVALID_PARAMS,
      fault === 'expired'
        ? 'requestState has expired, and nothing has run. Make the call again.'
        : 'requestState is not valid for this request: it was changed, or another client, request or server received it. If this server was restarted since, a call that was waiting for the answer may have run.',
      { reason: 'invalid_request_state' },
    );
  }

  #outcomeUnknown(method: string): JsonObject {
    const message =
      'The call that this answer belongs to is no longer waiting here. It may have run; check its effects before repeating it.';
    if (method !== 'tools/call') throw rpcError(INTERNAL_ERROR, message);
    return this.#complete(toWireResult(errorResult(new ToolError('OUTCOME_UNKNOWN', message))));
  }

  #complete(result: JsonObject): JsonObject {
    return completeResult(result, this.#host.version);
  }
}

/** The error of a failed call, as `_meta` has it. */
function errorOfResult(result: JsonObject | undefined): unknown {
  if (result?.isError !== true || !isJsonObject(result._meta)) return undefined;
  const { details } = (result._meta[ERROR_META] ?? {}) as { details?: { rpcCode?: number; data?: unknown } };
  return { code: details?.rpcCode, data: details?.data };
}

/** A server's cache hints, if they are valid; else none of its answer may be kept. */
function cacheHintsOf({ ttlMs, cacheScope }: JsonObject): JsonObject {
  const isValid = Number.isSafeInteger(ttlMs) && (ttlMs as number) >= 0;
  return { ttlMs: isValid ? ttlMs : 0, cacheScope: isValid && cacheScope === 'public' ? 'public' : 'private' };
}
