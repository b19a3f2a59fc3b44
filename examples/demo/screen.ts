// Prints one block per call, coloured on a terminal and plain in a pipe.

import pc from 'picocolors';
import {
  textOf,
  type ApprovalRequest,
  type JsonObject,
  type PolicyAction,
  type ProviderStatus,
  type ToolDefinition,
  type ToolError,
  type ToolResult,
} from '@toolwright/core';
import type { Summary } from './agent.js';

const MAX_LINES = 6;

export class Screen {
  readonly #out: NodeJS.WritableStream;

  constructor(out: NodeJS.WritableStream) {
    this.#out = out;
  }

  title(text: string): void {
    this.#line(pc.bold(text));
  }

  note(text: string): void {
    this.#line(pc.dim(text));
  }

  tools(tools: readonly ToolDefinition[]): void {
    this.#line(`\n${pc.bold(String(tools.length))} tools:`);
    const width = tools.reduce((longest, { name }) => Math.max(longest, name.length), 0);
    for (const { name, description, annotations } of tools) {
      this.#line(
        `  ${pc.cyan(name.padEnd(width))}  ${annotations.readOnlyHint ? pc.green('reads ') : pc.yellow('writes')}  ${firstSentence(description)}`,
      );
    }
  }

  call(say: string, { name, args }: { name: string; args: JsonObject }): void {
    this.#line(`\n${pc.magenta('model')} ${say}`);
    this.#line(`${pc.blue('call ')} ${pc.cyan(name)} ${shorten(JSON.stringify(args), 160)}`);
  }

  decision(decision: PolicyAction, by: string): void {
    if (by === 'approval') this.#line(pc.dim(`  ${decision === 'allow' ? 'approved' : 'not approved'}`));
  }

  approval({ tool, reason, claims }: ApprovalRequest): void {
    this.#line(`${pc.yellow('ask  ')} ${tool} would touch ${claims.map(({ pattern }) => pc.bold(pattern)).join(', ')}`);
    this.#line(pc.dim(`  ${reason}`));
  }

  result(result: ToolResult, checked: string | undefined): void {
    const mark = result.isError ? pc.red(`${result.error?.code ?? 'error'}`) : pc.green('ok');
    this.#line(`${pc.blue('took ')} ${result.durationMs.toFixed(1)} ms, ${mark}`);
    const lines = textOf(result).split('\n');
    for (const line of lines.slice(0, MAX_LINES)) this.#line(`  ${shorten(line, 140)}`);
    if (lines.length > MAX_LINES) this.#line(pc.dim(`  … ${lines.length - MAX_LINES} more lines`));
    if (checked !== undefined)
      this.#line(`  ${checked.startsWith('DIFFERS') ? pc.red(`✗ ${checked}`) : pc.green(`✓ ${checked}`)}`);
  }

  summary(summary: Summary, status: readonly ProviderStatus[], differences: readonly string[]): void {
    this.#line(`\n${pc.bold('Summary')}`);
    this.#line(`  ${summary.answer || 'The model did not finish.'}`);
    const refusals = [...summary.refusals].map(([code, count]) => `${count} ${code}`).join(', ') || 'none';
    this.#line(`  ${summary.calls} calls in ${summary.toolMs.toFixed(0)} ms, approvals included; failed: ${refusals}.`);
    for (const { name, state, toolCount, calls, p50Ms } of status) {
      this.#line(
        `  provider ${name}: ${state}, ${toolCount} tools, ${calls} calls, median ${(p50Ms ?? 0).toFixed(1)} ms.`,
      );
    }
    for (const difference of differences) this.#line(pc.red(`  ✗ ${difference}`));
    if (differences.length === 0) this.#line(pc.green('  ✓ Every result agrees with the bytes on disk.'));
  }

  fact(isRight: boolean, text: string): void {
    this.#line(isRight ? pc.green(`  ✓ ${text}`) : pc.red(`  ✗ ${text}`));
  }

  failed(error: ToolError): void {
    this.#line(pc.red(`The demo failed: [${error.code}] ${error.message}`));
  }

  #line(text: string): void {
    this.#out.write(`${text}\n`);
  }
}

function firstSentence(text: string): string {
  return shorten(text.split(/(?<=\.)\s/, 1)[0] ?? '', 90);
}

/** One line of at most `length` characters, without control characters. */
function shorten(text: string, length: number): string {
  const clean = text.replace(/[\x00-\x08\x0b-\x1f\x7f]/g, '·').replaceAll('\t', '  ');
  return clean.length > length ? `${clean.slice(0, length - 1)}…` : clean;
}
