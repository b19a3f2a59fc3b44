// A small agent engine: it shows the model the tools, runs the calls that the model requests, and returns the results,
// until the model requests no more.

import {
  processDirectives,
  type JsonObject,
  type ToolDefinition,
  type ToolProvider,
  type ToolResult,
} from '@toolwright/core';
import type { DiskCheck } from './disk-check.js';
import type { Screen } from './screen.js';

/** One turn of a model: a text, and the call that it requests. */
export interface Turn {
  say: string;
  call: { name: string; args: JsonObject };
}

/** What the engine needs of a hub, or of any other provider. */
export type Tools = Pick<ToolProvider, 'listTools' | 'callTool'>;

/** A model: it gets the tools, yields turns and receives the result of each. */
export type Model = (tools: readonly ToolDefinition[]) => Generator<Turn, string, ToolResult>;

/** The outcome of a run. */
export interface Summary {
  /** The model's final text. */
  answer: string;
  finished: boolean;
  calls: number;
  /** The number of failed calls, by error code. */
  refusals: Map<string, number>;
  toolMs: number;
}

const MAX_TURNS = 30;

export async function runAgent(
  hub: Tools,
  model: Model,
  { screen, check }: { screen: Screen; check: Pick<DiskCheck, 'compare'> },
): Promise<Summary> {
  const tools = await hub.listTools();
  screen.tools(tools);
  const summary: Summary = { answer: '', finished: false, calls: 0, refusals: new Map(), toolMs: 0 };
  const turns = model(tools);
  let turn = turns.next();
  while (!turn.done && summary.calls < MAX_TURNS) {
    const { say, call } = turn.value;
    screen.call(say, call);
    const result = await hub.callTool(call.name, call.args, { sessionId: 'demo' });
    summary.calls++;
    summary.toolMs += result.durationMs;
    if (result.error) summary.refusals.set(result.error.code, (summary.refusals.get(result.error.code) ?? 0) + 1);
    screen.result(result, await check.compare(call, result));
    const { stopProcessing } = await processDirectives(result.directives);
    if (stopProcessing) break;
    turn = turns.next(result);
  }
  if (turn.done) Object.assign(summary, { answer: turn.value, finished: true });
  return summary;
}
