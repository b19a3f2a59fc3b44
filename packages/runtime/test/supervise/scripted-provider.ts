// An external provider whose fate a test decides: how it starts, what its calls come to, when it goes. It keeps no promise
// that a supervisor has to keep for it.

import {
  ToolError,
  type CallOptions,
  type JsonObject,
  type ProviderState,
  type ToolDefinition,
  type ToolProvider,
  type ToolResult,
} from '@toolwright/core';
import { errorResult } from '@toolwright/core/internal';

const HINTS = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false };

export function definition(name: string, hints: Partial<typeof HINTS> = {}): ToolDefinition {
  return { name, description: `Does ${name}.`, inputSchema: { type: 'object' }, annotations: { ...HINTS, ...hints } };
}

export const answer = (text: string): ToolResult => ({
  content: [{ type: 'text', text }],
  isError: false,
  directives: [],
  durationMs: 0,
});

export const failure = (error: ToolError): ToolResult => errorResult(error, performance.now());

/** A call that the provider has and has not answered. */
export interface OpenCall {
  readonly name: string;
  readonly args: JsonObject | undefined;
  readonly options: CallOptions | undefined;
  settle(result: ToolResult): void;
}

/** What all providers of one script share. */
export class Script {
  readonly made: ScriptedProvider[] = [];
  /** Of providers that are made from now on. */
  start: (provider: ScriptedProvider) => Promise<void> = () => Promise.resolve();
  ping: (provider: ScriptedProvider, signal: AbortSignal | undefined) => Promise<void> = () => Promise.resolve();
  call: (call: OpenCall, provider: ScriptedProvider) => void = (call) => call.settle(answer(call.name));
  tools: readonly ToolDefinition[] = [
    definition('made.write'),
    definition('made.read', { readOnlyHint: true }),
    definition('made.put', { idempotentHint: true }),
  ];

  readonly create = (): ScriptedProvider => new ScriptedProvider(this);

  /** The one that was made last. */
  get latest(): ScriptedProvider {
    return this.made.at(-1)!;
  }

  get connects(): number {
    return this.made.reduce((sum, { connects }) => sum + connects, 0);
  }

  /** How many run now. */
  get running(): number {
    return this.made.filter(({ state }) => state === 'READY').length;
  }
}

export class ScriptedProvider implements ToolProvider {
  readonly name = 'made';
  readonly kind: ToolProvider['kind'] = 'process';
  readonly servers = ['made'];
  readonly calls = new Set<OpenCall>();
  connects = 0;
  disconnects = 0;
  state: ProviderState = 'COLD';
  readonly #script: Script;
  readonly #changed = new Set<() => void>();
  readonly #lost = new Set<(error: ToolError) => void>();

  constructor(script: Script) {
    this.#script = script;
    script.made.push(this);
  }

  async connect(): Promise<void> {
    this.connects++;
    this.state = 'INITIALIZING';
    await this.#script.start(this);
    this.state = 'READY';
  }

  async listTools(): Promise<readonly ToolDefinition[]> {
    return this.#script.tools;
  }

  callTool(name: string, args?: JsonObject, options?: CallOptions): Promise<ToolResult> {
    return new Promise((resolve) => {
      const call: OpenCall = {
        name,
        args,
        options,
        settle: (result) => {
          this.calls.delete(call);
          resolve(result);
        },
      };
      this.calls.add(call);
      this.#script.call(call, this);
    });
  }

  ping({ signal }: { signal?: AbortSignal } = {}): Promise<void> {
    return this.#script.ping(this, signal);
  }

  async disconnect(): Promise<void> {
    this.disconnects++;
    this.state = 'COLD';
  }

  health(): ReturnType<NonNullable<ToolProvider['health']>> {
    return { state: this.state, consecutiveFailures: 0, totalInvocations: 0, totalFailures: 0, restarts: 0 };
  }

  onToolsChanged(listener: () => void): () => void {
    this.#changed.add(listener);
    return () => this.#changed.delete(listener);
  }

  onLost(listener: (error: ToolError) => void): () => void {
    this.#lost.add(listener);
    return () => this.#lost.delete(listener);
  }

  /** It goes, as a process does: it says so, and its calls have no answer. */
  crash(words = 'It was killed.'): void {
    this.state = 'DEAD';
    for (const listener of [...this.#lost]) listener(new ToolError('PROCESS_EXITED', words));
    for (const call of [...this.calls]) call.settle(failure(new ToolError('OUTCOME_UNKNOWN', words)));
  }

  toolsChanged(): void {
    for (const listener of [...this.#changed]) listener();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.disconnect();
  }
}

/** A promise with its ends outside. */
export function withResolvers<T = void>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((settle, fail) => {
    resolve = settle;
    reject = fail;
  });
  return { promise, resolve, reject };
}
