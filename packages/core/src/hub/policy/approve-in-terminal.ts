// approveInTerminal(): an `approve` callback that asks a person on the terminal.

import type { Interface } from 'node:readline';
import type { Approval, ApprovalContext, ApprovalRequest, PolicyRule } from '../../contract/approval.js';
import { ToolError } from '../../contract/errors.js';
import { showHidden } from '../../contract/shell-words.js';
import { assertOptions, type OptionNames } from '../../contract/options.js';

/** Options of {@link approveInTerminal}. */
export interface TerminalOptions {
  /** Where answers are read. Default: `process.stdin`. */
  input?: NodeJS.ReadStream;
  /** Where questions are written. Default: `process.stderr`, so that stdout is left to the program. */
  output?: NodeJS.WriteStream;
}

/**
 * Creates an `approve` callback that asks on the terminal, one question at a time. It shows the tool, every claim and the
 * arguments, with invisible characters escaped, and offers: once, always (with the rules that this adds), wider rules
 * where the tool suggests some, or no. `n` may be followed by a reason, which the model receives. Without a terminal,
 * every call is denied. When the arguments are too long to be shown whole, "always" is not offered.
 *
 * Input typed before a question is shown does not answer it. End of input and Ctrl-C deny; Ctrl-C is also passed on to
 * the process.
 *
 * @example
 * ```ts
 * const hub = new ToolHub({ providers, policy: { rules: [], default: 'ask', approve: approveInTerminal() } });
 * ```
 */
export function approveInTerminal(
  options: TerminalOptions = {},
): (request: ApprovalRequest, context: Pick<ApprovalContext, 'signal'>) => Promise<Approval> {
  assertOptions('approveInTerminal()', options, OPTIONS);
  const { input = process.stdin, output = process.stderr } = options;
  let last: Promise<unknown> = Promise.resolve();
  return (request, { signal }) => {
    const asked = last.then(() => {
      throwIfAborted(signal);
      if (!input.isTTY || !output.isTTY) return { decision: 'deny', message: NO_TERMINAL } as const;
      return askOnce(request, signal, input, output);
    });
    last = asked.catch(() => undefined); // the caller handles the failure
    return asked;
  };
}

const OPTIONS: OptionNames<TerminalOptions> = { input: true, output: true };
const NO_TERMINAL = 'No one could be asked: standard input or standard error is not a terminal.';
const MAX_SHOWN_ARGS = 4_000;
const MAX_SHOWN_LINE = 2_000;
const MAX_SHOWN_CLAIMS = 30;
/** Longer than an accidental double key press. */
const DISCARD_MS = 50;

async function askOnce(
  request: ApprovalRequest,
  signal: AbortSignal,
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
): Promise<Approval> {
  const { createInterface } = await import('node:readline');
  const { text, choices } = describe(request);
  await discardInput(input, signal);
  output.write(text);
  const terminal = createInterface({ input, output, terminal: true });
  try {
    for (;;) {
      const answer = await question(terminal, prompt(choices), signal);
      if (answer === undefined) return { decision: 'deny', message: 'The question was closed without an answer.' };
      const approval = readAnswer(answer, choices);
      if (approval) return approval;
      output.write(`Please answer with one of: ${choices.map(({ key }) => key).join(', ')}.\n`);
    }
  } finally {
    terminal.close();
    input.pause();
  }
}

interface Choice {
  key: string;
  label: string;
  approval: Approval;
}

function describe(request: ApprovalRequest): { text: string; choices: Choice[] } {
  // Line breaks are kept only in the formatted JSON: elsewhere they could forge lines of this question.
  const args = JSON.stringify(request.args, null, 2).split('\n').map(showHidden).join('\n');
  let shortened = args.length > MAX_SHOWN_ARGS || request.claims.length > MAX_SHOWN_CLAIMS;
  const shown = (text: string): string => {
    const escaped = showHidden(text);
    if (escaped.length <= MAX_SHOWN_LINE) return escaped;
    shortened = true;
    return `${escaped.slice(0, MAX_SHOWN_LINE)}… (${escaped.length - MAX_SHOWN_LINE} more characters)`;
  };
  const lines = [
    '',
    `${shown(request.tool)} wants to run: ${shown(request.reason)}`,
    ...request.claims.slice(0, MAX_SHOWN_CLAIMS).map(({ pattern, reason, understood }) => {
      const why = understood ? reason : `not fully understood${reason === undefined ? '' : `: ${reason}`}`;
      return `  - ${shown(pattern)}${why === undefined ? '' : `  (${shown(why)})`}`;
    }),
    ...(request.claims.length > MAX_SHOWN_CLAIMS ? [`  … and ${request.claims.length - MAX_SHOWN_CLAIMS} more`] : []),
    `  arguments: ${args.length > MAX_SHOWN_ARGS ? `${args.slice(0, MAX_SHOWN_ARGS)}… (${args.length - MAX_SHOWN_ARGS} more characters)` : args}`,
  ];
  const choices: Choice[] = [{ key: 'y', label: 'once', approval: { decision: 'once' } }];
  const offer = (key: string, label: string, rules: readonly PolicyRule[] | undefined): void => {
    if (shortened || !rules || rules.length === 0) return;
    for (const rule of rules) lines.push(`  ${key} adds the rule ${showHidden(JSON.stringify(rule))}`);
    choices.push({ key, label, approval: { decision: 'always', rules } });
  };
  offer('a', 'always', request.suggestedRules);
  offer('w', 'always, wider', request.wider);
  choices.push({ key: 'n', label: 'no, or "n REASON"', approval: { decision: 'deny' } });
  return { text: `${lines.join('\n')}\n\n`, choices };
}

function prompt(choices: readonly Choice[]): string {
  return `Allow it? ${choices.map(({ key, label }) => `[${key}] ${label}`).join('  ')}: `;
}

/** Parses an answer; undefined when it is not one of the choices. An empty answer approves nothing. */
function readAnswer(answer: string, choices: readonly Choice[]): Approval | undefined {
  const [word = '', ...rest] = answer.trim().split(/\s+/);
  const key = LONG_ANSWERS[word.toLowerCase()] ?? word.toLowerCase();
  const chosen = choices.find((choice) => choice.key === key);
  if (!chosen || key === 'n') {
    if (!chosen) return undefined;
    return rest.length > 0 ? { decision: 'deny', message: rest.join(' ') } : { decision: 'deny' };
  }
  return rest.length > 0 ? undefined : chosen.approval;
}

const LONG_ANSWERS: Readonly<Record<string, string>> = { yes: 'y', once: 'y', always: 'a', wider: 'w', no: 'n' };

/** One answer; undefined at the end of input. */
function question(terminal: Interface, text: string, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(endOf(signal));
    const settle = (answer: string | undefined): void => {
      signal.removeEventListener('abort', abort);
      resolve(answer);
    };
    terminal.once('close', () => settle(undefined));
    terminal.once('SIGINT', () => {
      settle(undefined);
      process.kill(process.pid, 'SIGINT'); // in raw mode the terminal sends no signal for the key
    });
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    else terminal.question(text, settle);
  });
}

/** Discards input that was typed before the question was shown. */
async function discardInput(input: NodeJS.ReadStream, signal: AbortSignal): Promise<void> {
  const drop = (): void => undefined;
  input.on('data', drop);
  input.resume();
  await new Promise<void>((resolve) => {
    setTimeout(resolve, DISCARD_MS);
  });
  input.off('data', drop);
  input.pause();
  throwIfAborted(signal);
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw endOf(signal);
}

function endOf(signal: AbortSignal): ToolError {
  return new ToolError('CANCELLED', 'The call ended before it was answered.', { cause: signal.reason });
}
