// Opens a session: finds out which revisions of MCP the server speaks, and starts the server again if the question ended it.

import { setTimeout as pause } from 'node:timers/promises';
import type { CallScope } from '../../call/call-scope.js';
import { ToolError } from '../../contract/errors.js';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import { MODERN_VERSION, type Engine } from '../engines/engine.js';
import { plainText, withoutSecrets } from '../../contract/sanitize.js';
import { MessageFilter, type NotificationListener, type Outcome, type RpcFault } from '../transport/message-filter.js';
import type { SessionTransport } from '../transport/transport.js';
import type { EraMemory } from './era-memory.js';
import { McpSession, type SessionOptions } from './mcp-session.js';
import { wasUnread } from './unread-request.js';

/** How a session is opened. */
export interface Opening extends SessionOptions {
  engine: Engine;
  protocol: 'auto' | 'legacy' | 'modern';
  eras: EraMemory;
  /** Creates a transport; more than once if the first one ends before the server has answered. */
  createTransport: () => Promise<SessionTransport>;
  /** True when `createTransport` can be called only once. */
  isSingleUse: boolean;
  isHttp: boolean;
  onNotification: NotificationListener;
  /** For the text of a failure; `scope` enforces the deadline. */
  connectTimeoutMs: number;
}

/** What to do with the next transport: ask the server first, or open a session of this era. */
type Plan = 'ask' | 'legacy' | 'modern';

/** What a server said to `server/discover`. */
type Answer = { era: 'modern'; discovered: JsonObject } | { era: 'legacy' };

/** How long a server may take to answer `server/discover` before `initialize` is sent too. */
const SILENT_MS = 1_000;
/** The same over HTTP, where a legacy server rejects the request immediately. */
const SILENT_HTTP_MS = 3_000;
/** The ids of the SDKs begin at 0, and never reach it: the server may leave the question unanswered for ever. */
const DISCOVER_ID = 2 ** 31 - 10;
const UNSUPPORTED_VERSION = -32_022;
/** Failures with which a server that does not speak the earlier revisions may meet `initialize`. */
const REFUSALS: ReadonlySet<unknown> = new Set(['PROTOCOL_VIOLATION', 'PROCESS_EXITED', 'CONNECTION_CLOSED']);

/**
 * Opens a session on a new transport. The end of `scope` closes the transport.
 *
 * @throws {ToolError} the transport's failure, PROCESS_EXITED, TIMED_OUT, CANCELLED, PROTOCOL_VIOLATION
 */
export async function openSession(opening: Opening, scope: CallScope): Promise<McpSession> {
  const { eras, connectTimeoutMs } = opening;
  const first = await scope.race(firstPlan(opening));
  const isFixed = first === opening.protocol || !opening.engine.hasModernEra || opening.isSingleUse;
  const tried = new Set<Plan>();
  let isKnownModern = false;
  for (let plan = first; ;) {
    tried.add(plan);
    if (plan === 'modern') tried.add('ask'); // the same question
    const creating = opening.createTransport();
    const transport = await scope.race(creating).catch((thrown: unknown) => {
      creating.then((late) => late.close()).catch(() => undefined); // a function of the host may take longer
      throw thrown;
    });
    const attempt = new Attempt(opening, transport, scope, plan);
    try {
      const session = await attempt.open();
      if (!isFixed) void eras.remember(session.era);
      return session;
    } catch (thrown) {
      const next = isFixed || scope.error ? undefined : attempt.nextPlan(thrown);
      const closing = transport.close().catch(() => undefined); // nothing more can be done
      opening.onClosing(closing);
      isKnownModern ||= thrown instanceof LateAnswer;
      if (!next || tried.has(next)) {
        const isDisproved = first !== 'ask' && (plan !== first || scope.error?.code === 'TIMED_OUT');
        if (!isFixed && (isKnownModern || isDisproved)) void eras.remember(isKnownModern ? 'modern' : undefined);
        throw attempt.failure(thrown);
      }
      plan = next;
      const elapsedMs = performance.now() - scope.startedAt;
      scope.setDeadline(elapsedMs + connectTimeoutMs, elapsedMs + connectTimeoutMs); // each start has the whole time
      await scope.race(closing); // two processes of a server never run at the same time
    }
  }
}

async function firstPlan({ engine, protocol, isSingleUse, eras }: Opening): Promise<Plan> {
  if (!engine.hasModernEra || protocol === 'legacy') return 'legacy';
  if (protocol === 'modern') return 'modern';
  return isSingleUse ? 'legacy' : ((await eras.recall()) ?? 'ask');
}

const NEVER = new Promise<never>(() => undefined);

/** The server answered `server/discover` after `initialize` was sent. */
class LateAnswer extends Error {}

/** One transport. */
class Attempt {
  readonly #opening: Opening;
  readonly #transport: SessionTransport;
  readonly #filter: MessageFilter;
  readonly #scope: CallScope;
  readonly #plan: Plan;
  #requested: 'server/discover' | 'initialize' = 'initialize';
  /** True once the server has answered `server/discover`. */
  #hasAnswered = false;

  constructor(opening: Opening, transport: SessionTransport, scope: CallScope, plan: Plan) {
    this.#opening = opening;
    this.#transport = transport;
    this.#filter = new MessageFilter(transport, opening.onNotification);
    this.#scope = scope;
    this.#plan = plan;
  }

  async open(): Promise<McpSession> {
    if (this.#plan === 'legacy') return this.#openLegacy();
    const answering = this.#ask();
    const answer = await this.#scope.race(this.#plan === 'modern' ? answering : this.#withTimeout(answering));
    if (answer?.era === 'modern') return this.#session(answer.discovered);
    if (this.#opening.protocol === 'modern')
      throw new ToolError(
        'PROTOCOL_VIOLATION',
        `it does not speak MCP ${MODERN_VERSION}; set protocol to 'auto' or 'legacy'.`,
      );
    if (answer) return this.#openLegacy();
    if (this.#transport.abandon) {
      this.#transport.abandon(DISCOVER_ID);
      return this.#openLegacy();
    }
    const late = answering.then(
      ({ era }) => (era === 'modern' ? Promise.reject(new LateAnswer()) : NEVER),
      () => NEVER, // the failure of `initialize` is the one to report
    );
    return this.#scope.race(Promise.race([this.#openLegacy(), late]));
  }

  /** What to try after a failure; undefined when another attempt would fail in the same way. */
  nextPlan(thrown: unknown): Plan | undefined {
    const { failure } = this.#transport;
    const { code } = (failure ?? thrown) as { code?: unknown };
    if (thrown instanceof LateAnswer) return 'modern';
    if (this.#plan === 'legacy') {
      if (code === UNSUPPORTED_VERSION) return 'modern';
      // The server may have changed since the verdict: its refusal of `initialize` can have any code.
      return typeof code === 'number' || REFUSALS.has(code) ? 'ask' : undefined;
    }
    // A server that starts slowly receives `initialize` before the question has ended it.
    if (failure && !this.#hasAnswered) return this.#opening.isHttp ? undefined : 'legacy';
    return this.#requested === 'initialize' && this.#plan === 'ask' && code === UNSUPPORTED_VERSION
      ? 'modern'
      : undefined;
  }

  failure(thrown: unknown): ToolError {
    const { name, connectTimeoutMs } = this.#opening;
    const { failure, stderrNote } = this.#transport;
    const { error } = this.#scope;
    const tooSlow = `it did not answer "${this.#requested}" within ${connectTimeoutMs} ms; check the server, or raise connectTimeoutMs.`;
    const why =
      failure ?? (error?.code === 'TIMED_OUT' ? new ToolError('TIMED_OUT', tooSlow) : error) ?? fromStart(thrown);
    const hint = why.code === 'PROCESS_EXITED' ? ' Run its command in a terminal to see why.' : '';
    const more = stderrNote === undefined || why.message.includes(stderrNote) ? '' : ` ${stderrNote}`;
    const { code, message, details, retryable } = why;
    const secrets = [...this.#opening.secrets, ...(this.#transport.secrets?.() ?? [])];
    const text = withoutSecrets(`The MCP server "${name}" did not start: ${message}${hint}${more}`, secrets);
    return new ToolError(code, text, { provider: name, details, retryable, cause: thrown });
  }

  #openLegacy(): Promise<McpSession> {
    this.#requested = 'initialize';
    return this.#session(undefined);
  }

  #session(discovered: JsonObject | undefined): Promise<McpSession> {
    const { engine } = this.#opening;
    return McpSession.open(engine, this.#transport, this.#filter, this.#opening, this.#scope, discovered);
  }

  /** https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning */
  async #ask(): Promise<Answer> {
    const { clientInfo, capabilities, isHttp } = this.#opening;
    this.#requested = 'server/discover';
    const params = { _meta: envelopeOf(clientInfo, capabilities) };
    let outcome: Outcome | undefined;
    try {
      outcome = await this.#filter.exchange(DISCOVER_ID, 'server/discover', params);
      // A server may refuse the first request of a client that it does not know, and name this very revision.
      if (outcome && 'error' in outcome && supportedVersions(outcome.error)?.includes(MODERN_VERSION))
        outcome = await this.#filter.exchange(DISCOVER_ID + 1, 'server/discover', params);
    } catch (thrown) {
      // A legacy server may reject the request with any status; if it is down, `initialize` says why.
      const isRejected = isHttp && !wasUnread(thrown) && (thrown as ToolError).code !== 'PERMISSION_DENIED';
      if (isRejected) return { era: 'legacy' };
      throw thrown;
    }
    if (!outcome) throw new ToolError('CONNECTION_CLOSED', 'it closed the connection before it responded.');
    this.#hasAnswered = true;
    if ('failure' in outcome && isHttp) return { era: 'legacy' };
    return answerOf(outcome);
  }

  #withTimeout(answering: Promise<Answer>): Promise<Answer | undefined> {
    const { isHttp, connectTimeoutMs } = this.#opening;
    const done = new AbortController();
    const timeoutMs = Math.min(isHttp ? SILENT_HTTP_MS : SILENT_MS, connectTimeoutMs / 2);
    const timeout = pause(timeoutMs, undefined, { signal: done.signal });
    return Promise.race([answering, timeout.catch(() => undefined)]).finally(() => done.abort());
  }
}

/** The `_meta` that a request of MCP 2026-07-28 must have. */
export function envelopeOf(clientInfo: { name: string; version: string }, capabilities: JsonObject): JsonObject {
  return {
    'io.modelcontextprotocol/protocolVersion': MODERN_VERSION,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
}

/** @throws {ToolError} when the server speaks neither this revision nor an earlier one */
function answerOf(outcome: Outcome): Answer {
  if ('failure' in outcome) throw outcome.failure;
  const discovered = 'result' in outcome ? outcome.result : undefined;
  const versions = 'result' in outcome ? outcome.result.supportedVersions : supportedVersions(outcome.error);
  if (!Array.isArray(versions)) return { era: 'legacy' };
  if (discovered && versions.includes(MODERN_VERSION)) return { era: 'modern', discovered };
  if (versions.length === 0 || versions.some((version) => typeof version === 'string' && version < MODERN_VERSION))
    return { era: 'legacy' };
  const named = versions.map((version) => plainText(String(version), 20)).slice(0, 5);
  throw new ToolError('PROTOCOL_VIOLATION', `it speaks only MCP ${named.join(', ')}, which is not supported.`);
}

/** The revisions that a server names when it refuses one. */
function supportedVersions({ code, data }: RpcFault): readonly unknown[] | undefined {
  const supported = isJsonObject(data) ? data.supported : undefined;
  return code === UNSUPPORTED_VERSION && Array.isArray(supported) ? supported : undefined;
}

/** No call was sent yet, so there is none whose outcome would be unknown. */
function beforeAnyCall(failure: ToolError): ToolError {
  if (failure.code !== 'OUTCOME_UNKNOWN') return ToolError.from(failure);
  return new ToolError('UNAVAILABLE', 'the connection ended before its response to initialize.', { cause: failure });
}

function fromStart(thrown: unknown): ToolError {
  if (ToolError.isInstance(thrown)) return beforeAnyCall(thrown);
  const { code, data, message } = thrown as { code?: unknown; data?: unknown; message?: unknown };
  if (ToolError.isInstance(data)) return beforeAnyCall(data);
  const text = plainText(typeof message === 'string' ? message : String(thrown), 500);
  if (code === -32_000 || code === 'CONNECTION_CLOSED')
    return new ToolError('CONNECTION_CLOSED', 'it closed the connection before it responded.');
  return new ToolError('PROTOCOL_VIOLATION', `its response to initialize is invalid: ${text}`, { cause: thrown });
}
