// Turns what happens in a provider or a hub into the lines of a recording. Copies everything when it is called, as callers may
// change it later.

import { canonicalJson } from '../contract/canonical-json.js';
import type { PreparedCall, Progress } from '../contract/tool-provider.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import { redacted } from '../contract/redact.js';
import { redactedText } from '../contract/redacted-text.js';
import { recordedCall, recordedResult, recordedTool } from './recorded-values.js';
import type { RecordedCall } from './recording-format.js';
import type { RecordingWriter } from './recording-writer.js';

/** A call that is being recorded. */
export interface OpenRecording {
  readonly progress: (progress: Progress) => void;
  /** Records the result; only the first counts, and no progress after it. */
  readonly settle: (result: unknown) => void;
}

export class CallRecorder {
  readonly #writer: RecordingWriter;
  #lastId = 0;
  #listed: readonly ToolDefinition[] | undefined;
  #listedJson = '';
  /** Tools that were recorded one by one. */
  readonly #single = new Map<string, ToolDefinition>();

  constructor(writer: RecordingWriter) {
    this.#writer = writer;
  }

  /** True when a list of tools was recorded. */
  get hasList(): boolean {
    return this.#listed !== undefined;
  }

  /** Records a list of tools, unless it is the last one again. */
  list(tools: readonly ToolDefinition[]): void {
    if (tools === this.#listed || !Array.isArray(tools)) return;
    this.#listed = tools;
    const recorded = (tools as readonly ToolDefinition[]).map(recordedTool);
    const json = JSON.stringify(recorded);
    if (json === this.#listedJson) return;
    this.#listedJson = json;
    this.#writer.append({ type: 'tools', tools: recorded });
  }

  /** Records one tool, unless it is in the list or that was its last definition. */
  listOne(tool: ToolDefinition): void {
    if (this.#single.get(tool.name) === tool || this.#listed?.some(({ name }) => name === tool.name)) return;
    this.#single.set(tool.name, tool);
    this.#writer.append({ type: 'tools', tools: [recordedTool(tool)], partial: true });
  }

  /** Records that the list of tools has changed. */
  changed(): void {
    this.#writer.append({ type: 'changed' });
  }

  /** Records a call that was prepared. Returns the call as it will be made. */
  prepared(name: unknown, args: unknown, prepared: PreparedCall): RecordedCall {
    const given = recordedCall(name, args);
    const isAsGiven = canonicalJson(args) === canonicalJson(prepared.args);
    const sent = isAsGiven ? given.args : recordedCall(name, prepared.args).args;
    const { claims, timeoutMs, verdict, refused, tool } = prepared;
    this.#writer.append({
      type: 'prepare',
      ...given,
      tool: refused ? redactedText(tool.name) : tool.name, // the name of an unknown tool is the caller's text
      ...(!isAsGiven && { sent }),
      claims: redacted(claims),
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(verdict && { verdict: redacted(verdict) }),
      ...(refused && { refused: recordedResult(refused) }),
    });
    return { name: tool.name, args: sent };
  }

  /** Records a call that starts now. */
  start(call: RecordedCall): OpenRecording {
    const id = ++this.#lastId;
    const startedAt = performance.now();
    const elapsed = (): number => Math.round((performance.now() - startedAt) * 1_000) / 1_000;
    let isOpen = true;
    this.#writer.append({ type: 'call', id, ...call });
    return {
      progress: (progress) => {
        if (isOpen) this.#writer.append({ type: 'progress', id, progress: redacted(progress), ms: elapsed() });
      },
      settle: (result) => {
        if (!isOpen) return;
        isOpen = false;
        this.#writer.append({ type: 'result', id, result: recordedResult(result), ms: elapsed() });
      },
    };
  }
}
