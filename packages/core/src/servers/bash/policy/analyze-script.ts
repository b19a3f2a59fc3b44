// A script: the directories that each of its commands may run in, and the targets of its redirections. A `cd` applies to
// what follows it in the same shell; where it may have failed, both directories apply.

import type { Directories } from './argument-paths.js';
import { analyzeInvocation } from './analyze-invocation.js';
import type { AnalyzerContext } from './invocation.js';
import type { Redirect, ScriptNode } from './script-reader.js';
import { isHarmlessVariable } from './commands/refused-commands.js';
import { hasBraces, hasTilde, hasWildcard, type ShellWord } from './script-tokens.js';

/** The directories that the shell may be in after success and after failure. */
interface Outcome {
  readonly ok: Directories;
  readonly failed: Directories;
}

/** Claims everything that a script does when it starts in any of these directories. */
export async function analyzeScript(context: AnalyzerContext, node: ScriptNode, start: Directories): Promise<Outcome> {
  const unchanged: Outcome = { ok: start, failed: start };
  switch (node.kind) {
    case 'command':
      return analyzeSimpleCommand(context, node, start);
    case 'group': {
      const inner = await analyzeScript(context, node.body, start);
      for (const redirect of node.redirects) await analyzeRedirect(context, redirect, start);
      return node.subshell ? unchanged : inner;
    }
    case 'not': {
      const { ok, failed } = await analyzeScript(context, node.body, start);
      return { ok: failed, failed: ok };
    }
    case 'background':
      await analyzeScript(context, node.body, start);
      return unchanged;
    case 'pipeline':
      // Each part runs in its own shell.
      for (const part of node.parts) await analyzeScript(context, part, start);
      return unchanged;
    case 'and': {
      const left = await analyzeScript(context, node.left, start);
      const right = await analyzeScript(context, node.right, left.ok);
      return { ok: right.ok, failed: union(left.failed, right.failed) };
    }
    case 'or': {
      const left = await analyzeScript(context, node.left, start);
      const right = await analyzeScript(context, node.right, left.failed);
      return { ok: union(left.ok, right.ok), failed: right.failed };
    }
    case 'sequence': {
      let outcome = unchanged;
      for (const part of node.parts) outcome = await analyzeScript(context, part, union(outcome.ok, outcome.failed));
      return outcome;
    }
  }
}

async function analyzeSimpleCommand(
  context: AnalyzerContext,
  { words, assignments, redirects }: Extract<ScriptNode, { kind: 'command' }>,
  start: Directories,
): Promise<Outcome> {
  const { analysis } = context;
  for (const redirect of redirects) await analyzeRedirect(context, redirect, start);
  for (const { name, value } of assignments) {
    const harmless = words.length > 0 && !value.variable && isHarmlessVariable(name, value.text);
    if (!harmless) analysis.claimUnknownText(`${name}=${value.text}`, 'a variable can change what the commands do');
  }
  if (words[0]?.text === 'cd') return changeDirectory(context, words, start);
  if (words.length > 0) await analyzeInvocation(context, words, start);
  return { ok: start, failed: start };
}

async function changeDirectory(
  context: AnalyzerContext,
  words: readonly ShellWord[],
  start: Directories,
): Promise<Outcome> {
  const { analysis, paths } = context;
  analysis.countCommand();
  const [target, ...more] = words[1]?.text === '--' ? words.slice(2) : words.slice(1);
  const literal = target && !target.variable && !hasWildcard(target) && !hasBraces(target) && !hasTilde(target);
  if (target) await paths.argument(target, start, 'reads');
  if (!literal || more.length > 0 || target.text === '' || target.text.startsWith('-')) {
    analysis.claimUnknown(words, 'its target directory is not known');
    return { ok: start, failed: start };
  }
  const reached = new Set<string>();
  for (const from of start) {
    const to = await paths.directory(target.text, from);
    if (to === undefined) analysis.claimUnknown(words, 'it is outside the project or behind a link');
    else reached.add(to);
  }
  analysis.claimCommand(words);
  return { ok: reached.size > 0 ? reached : start, failed: start };
}

async function analyzeRedirect(
  { analysis, paths }: AnalyzerContext,
  redirect: Redirect,
  start: Directories,
): Promise<void> {
  const { operator, target } = redirect;
  if (/^[<>]&$/.test(operator) && /^(?:\d+-?|-)$/.test(target.shape)) return; // another descriptor
  const text = `${operator} ${target.text}`;
  if (target.variable || hasWildcard(target) || hasBraces(target) || target.text === '')
    return analysis.claimUnknownText(text, 'the target of the redirection is not known');
  // bash expands this target twice: `>&'$(rm a)'` runs rm, and `>&'a $b'` writes "a ".
  if (operator === '>&' && !/^[\w./+@:,%=-]+$/.test(target.text))
    return analysis.claimUnknownText(text, 'bash expands what is quoted in it');
  if (/^\/dev\/(?:tcp|udp)\//.test(target.text))
    return analysis.claimUnknownText(text, 'it opens a network connection');
  if (operator === '<') await paths.argument(target, start, 'reads');
  else if (operator === '<&') analysis.claimUnknownText(text, 'the target of the redirection is not known');
  else await paths.written(target, start);
}

function union(a: Directories, b: Directories): Directories {
  return a === b ? a : new Set([...a, ...b]);
}
