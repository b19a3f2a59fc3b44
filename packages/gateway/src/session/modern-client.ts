// One client of MCP 2026-07-28: a connection, or everyone with one token over HTTP. Each of its requests stands alone;
// what remains between them are the calls that wait for an answer, and the subscriptions.

import {
  ToolError,
  type Approval,
  type ApprovalRequest,
  type InputRound,
  type JsonObject,
  type ToolDefinition,
} from '@toolwright/core';
import { isDeeperThan, isJsonObject } from '@toolwright/core/internal';
import { ERROR_META, toWireResult } from '@toolwright/core/mcp';
import { missingCapabilities } from '../engines/client-capabilities.js';
import type { AnswerStream, Exchange } from '../engines/port.js';
import {
  completeResult,
  inputRequiredResult,
  LOG_LEVELS,
  SUPPORTED_VERSIONS,
  type ModernRequest,
} from '../engines/v2.js';
import type { ForwardingClient } from '../forwarding/forwarding-client.js';
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  rejection,
  rpcError,
  SERVER_BUSY,
} from '../rpc-error.js';
import { approvalForm, showsForms } from './approval-form.js';
import { HeldCall } from './held-call.js';
import { InFlight } from './in-flight.js';
import { Listening } from './listening.js';
import { bindingOf, digestOf, type RequestState } from './request-state.js';
import { busyMessage, commonCapabilities, MAX_DEPTH, type SessionHost } from './session-host.js';
import { errorResult } from './tool-calls.js';

/** Calls of one client that wait for an answer. */
const MAX_HELD = 64;
/** How long a client may use what the gateway says about itself, which does not change. */
const DISCOVER_TTL_MS = 300_000;
/** How long a client may use a list without asking. Changes are reported to those that listen. */
const LIST_TTL_MS = 10_000;
const APPROVAL = 'approval';

/** What ended an attempt before its request was done. */
type Interruption = { readonly round: InputRound } | { readonly shown: ApprovalRequest; readonly digest: string };

/** Answers the requests of one client. */
export class ModernClient {
  /** Sent as `sessionId` with each call. */
  readonly id: string;
  readonly #host: SessionHost;
  readonly #principal: string;
  readonly #inFlight: InFlight;
  readonly #held = new Map<string, { call: HeldCall; timer: NodeJS.Timeout }>();
  readonly #listening: Listening;
  #closed = false;

  /** @param options `principal` who may continue what it began; `inFlight` shared with the legacy requests of a connection */
  constructor(host: SessionHost, options: { id: string; principal: string; inFlight?: InFlight }) {
    this.#host = host;
    this.id = options.id;
    this.#principal = options.principal;
    this.#inFlight = options.inFlight ?? new InFlight();
    this.#listening = new Listening(host);
  }

  /** The result to send, which asks for input where that is required. @throws a JSON-RPC error */
  async handle(request: ModernRequest, stream: AnswerStream): Promise<JsonObject> {
    if (isDeeperThan(request.params, MAX_DEPTH) || isDeeperThan(request.inputResponses, MAX_DEPTH))
      throw rejection(400, INVALID_REQUEST, `The request is nested deeper than ${MAX_DEPTH} levels.`);
    // A subscription waits for changes: it is not in flight as a call is, and has a limit of its own.
    if (request.method === 'subscriptions/listen') return this.#complete(await this.#listening.listen(request, stream));
    const { maxRequestsInFlight: limit } = this.#host.limits;
    if (this.#inFlight.count >= limit) {
      if (request.method !== 'tools/call') throw rpcError(SERVER_BUSY, busyMessage(limit));
      return this.#complete(this.#host.calls.rejectBusy(busyMessage(limit)));
    }
    this.#inFlight.enter();
    try {
      return await this.#answer(request, stream);
    } finally {
      this.#inFlight.leave();
    }
  }

  /** The tool of a listed name, if there is one. */
  toolOf(name: unknown): Promise<ToolDefinition | undefined> {
    return this.#host.calls.find(name);
  }

  /** Resolves when no request is being handled. */
  whenIdle(): Promise<void> {
    return this.#inFlight.whenNone();
  }

  /** Ends what waits for answers, and the subscriptions with their result. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#listening.close();
    for (const { call, timer } of this.#held.values()) {
      clearTimeout(timer);
      call.end();
    }
    this.#held.clear();
    await new Promise(setImmediate); // the results of subscriptions are written
  }

  async #answer(request: ModernRequest, stream: AnswerStream): Promise<JsonObject> {
    const { method, params } = request;
    const { forwarding } = this.#host;
    switch (method) {
      case 'server/discover':
        return this.#complete({
          supportedVersions: [...SUPPORTED_VERSIONS],
          capabilities: commonCapabilities(this.#host),
          ttlMs: DISCOVER_TTL_MS,
          cacheScope: 'public',
        });
      case 'tools/list': {
        const { items, ...next } = (await this.#host.catalog.read()).page(params.cursor, this.#host.limits.pageSize);
        // A provider does not say whether its tools depend on who asks.
        return this.#complete({ tools: items, ...next, ttlMs: LIST_TTL_MS, cacheScope: 'private' });
      }
      case 'tools/call':
        return this.#interact(request, stream);
      case 'prompts/get':
      case 'resources/read':
        if (forwarding) return this.#interact(request, stream);
        break;
      case 'resources/list':
      case 'resources/templates/list':
      case 'prompts/list':
        if (forwarding) {
          const page = await this.#forward(request, stream);
          return this.#complete({ ...page, ...forwarding.cacheHints(method, LIST_TTL_MS) });
        }
        break;
      case 'completion/complete':
        if (forwarding) return this.#complete(await this.#forward(request, stream));
    }
    throw rejection(404, METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 100)}`);
  }

  /** Runs a request whose client may be asked, or continues the one that its state names. */
  async #interact(request: ModernRequest, stream: AnswerStream): Promise<JsonObject> {
    const { method, params, requestState, inputResponses } = request;
    const binding = bindingOf(this.#principal, method, params);
    let state: RequestState = {};
    if (requestState !== undefined) {
      const opened = await this.#host.states.open(requestState, binding);
      if ('fault' in opened) return this.#rejectState(method, opened);
      state = opened.state;
    }
    const call = state.held === undefined ? this.#start(request, state, binding) : this.#resume(state.held);
    if (!call) return this.#outcomeUnknown(method);
    const attempt = await call.next(stream, inputResponses);
    if ('result' in attempt) return attempt.result;
    this.#hold(call);
    return this.#inputRequired(attempt.inputRequests, { held: call.id }, binding);
  }

  #start(request: ModernRequest, state: RequestState, binding: string): HeldCall {
    const { capabilities } = request;
    const call: HeldCall = new HeldCall({
      run: (exchange) => this.#run(request, state, binding, exchange, () => call.end()),
      mayAsk: (method, params) => {
        if (missingCapabilities(method, params, capabilities))
          throw rpcError(METHOD_NOT_FOUND, `Declined ${method}: the client does not have the capability for it.`);
        if (this.#held.size >= MAX_HELD)
          throw rpcError(SERVER_BUSY, `Declined ${method}: ${MAX_HELD} calls of this client wait for an answer.`);
      },
    });
    return call;
  }

  /** Runs the request to its end, or until an approval or a server's round interrupts it. */
  async #run(
    request: ModernRequest,
    state: RequestState,
    binding: string,
    basic: Exchange,
    end: () => void,
  ): Promise<JsonObject> {
    const { method, params, meta, progressToken, logLevel, capabilities, inputResponses } = request;
    const { forwarding } = this.#host;
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
    const approve = (shown: ApprovalRequest): Approval => {
      const digest = digestOf(shown);
      if (approved.includes(digest)) return { decision: 'once' };
      const answer = state.asked === digest ? inputResponses?.[APPROVAL] : undefined;
      if (answer !== undefined) {
        const approval = approvalForm(shown).parse(answer);
        if (approval.decision !== 'deny') approved.push(digest);
        return approval;
      }
      interruption ??= { shown, digest };
      end(); // before anything has run: the retry makes the call again
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
              logs: logLevel !== undefined,
              client: this.#forwardingClient(request),
              exchange,
              ...(showsForms(capabilities) && { approve }),
              isInterrupted: () => interruption !== undefined,
            })
          : await this.#forward(request, exchange);
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

  #hold(call: HeldCall): void {
    const timer = setTimeout(() => {
      this.#held.delete(call.id);
      call.end();
    }, this.#host.limits.approvalTimeoutMs);
    timer.unref();
    if (this.#closed) {
      clearTimeout(timer);
      return call.end();
    }
    this.#held.set(call.id, { call, timer });
  }

  #resume(id: string): HeldCall | undefined {
    const held = this.#held.get(id);
    this.#held.delete(id);
    clearTimeout(held?.timer);
    return held?.call;
  }

  #rejectState(method: string, { fault, wasHeld }: { fault: string; wasHeld: boolean }): JsonObject {
    // A state that was used, or whose call was given up, belongs to a call that may have run.
    if (fault === 'used' || (fault === 'expired' && wasHeld)) return this.#outcomeUnknown(method);
    if (fault === 'full') throw rpcError(SERVER_BUSY, 'Too many calls were answered lately. Try again later.');
    throw rejection(
      400,
      INVALID_PARAMS,
      fault === 'expired'
        ? 'requestState has expired, and nothing has run. Make the call again.'
        : 'requestState is not valid for this request: it was changed, or another client, request or server received it.',
      { reason: 'invalid_request_state' },
    );
  }

  #outcomeUnknown(method: string): JsonObject {
    const message =
      'The call that this answer belongs to is no longer held here. It may have run; check its effects before repeating it.';
    if (method !== 'tools/call') throw rpcError(INTERNAL_ERROR, message);
    return this.#complete(toWireResult(errorResult(new ToolError('OUTCOME_UNKNOWN', message))));
  }

  async #forward(request: ModernRequest, stream: AnswerStream & Partial<Exchange>): Promise<JsonObject> {
    const { method, params, meta } = request;
    const client = this.#forwardingClient(request);
    const exchange = { request: declineQuestion, ...stream };
    const given = Object.keys(meta).length > 0 ? { ...params, _meta: meta } : params;
    const answer = this.#host.forwarding?.handle(method, given, client, exchange);
    if (!answer) throw rejection(404, METHOD_NOT_FOUND, `Method not found: ${method.slice(0, 100)}`);
    return answer;
  }

  /** The client as of one request, whose capabilities and log level apply to nothing else. */
  #forwardingClient({ capabilities, logLevel }: ModernRequest): ForwardingClient {
    const lowest = logLevel === undefined ? LOG_LEVELS.length : LOG_LEVELS.indexOf(logLevel);
    return {
      id: this.id,
      clientCapabilities: capabilities,
      notify: () => undefined,
      log: (exchange, level, params) => {
        if (LOG_LEVELS.indexOf(level) >= lowest) exchange.notify('notifications/message', { level, ...params });
      },
    };
  }

  #complete(result: JsonObject): JsonObject {
    return completeResult(result, this.#host.version);
  }
}

/** What servers may require of this client through the gateway. The gateway follows tasks itself. */
function relayedCapabilities({ elicitation, sampling, roots }: JsonObject): JsonObject {
  return {
    ...(elicitation !== undefined && { elicitation }),
    ...(sampling !== undefined && { sampling }),
    ...(roots !== undefined && { roots }),
  };
}

/** The error of a failed call, as `_meta` has it. */
function errorOfResult(result: JsonObject | undefined): unknown {
  if (result?.isError !== true || !isJsonObject(result._meta)) return undefined;
  const { details } = (result._meta[ERROR_META] ?? {}) as { details?: { rpcCode?: number; data?: unknown } };
  return { code: details?.rpcCode, data: details?.data };
}

/** The capabilities that a server's error requires, of those that the gateway relays and the client did not declare. */
function capabilitiesRequiredBy(error: unknown, declared: JsonObject): JsonObject | undefined {
  const { code, data } = (error ?? {}) as { code?: unknown; data?: unknown };
  const required = isJsonObject(data) ? data.requiredCapabilities : undefined;
  if (code !== MISSING_CAPABILITY || !isJsonObject(required)) return undefined;
  const missing = Object.entries(relayedCapabilities(required)).filter(([name, needed]) => {
    const has = declared[name];
    if (!isJsonObject(has)) return true;
    return isJsonObject(needed) && Object.keys(needed).some((part) => !(part in has));
  });
  return missing.length > 0 ? Object.fromEntries(missing) : undefined;
}

/** A server's cache hints, if they are valid; else none of its answer may be kept. */
function cacheHintsOf({ ttlMs, cacheScope }: JsonObject): JsonObject {
  const isValid = Number.isSafeInteger(ttlMs) && (ttlMs as number) >= 0;
  return { ttlMs: isValid ? ttlMs : 0, cacheScope: isValid && cacheScope === 'public' ? 'public' : 'private' };
}

/** Lists and completion never ask a client. */
function declineQuestion(method: string): Promise<JsonObject> {
  return Promise.reject(rpcError(METHOD_NOT_FOUND, `Declined ${method}: it belongs to no call.`));
}
