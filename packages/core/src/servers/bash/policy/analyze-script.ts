// A whole script: which directory each of its commands runs in, where its redirections lead. A `cd` counts for what
// comes after it in the same shell, and where it may have failed both directories count.

import type { Directories } from './argument-paths.js';
import { judgeInvocation, type JudgeContext } from './invocation.js';
import type { Redirect, ScriptNode } from './script-reader.js';
import { isHarmlessVariable } from './refused-commands.js';
import { hasBraces, hasTilde, hasWildcard, type ShellWord } from './script-tokens.js';

/** Where the shell can be after a command that succeeded, and after one that failed. */
interface Outcome {
  readonly ok: Directories;
  readonly failed: Directories;
}

/** Claims everything that a script does when it starts in one of these directories. */
export async function judgeScript(context: JudgeContext, node: ScriptNode, start: Directories): Promise<Outcome> {
  const staying: Outcome = { ok: start, failed: start };
  switch (node.kind) {
    case 'command':
      return judgeCommandNode(context, node, start);
    case 'group': {
      const inner = await judgeScript(context, node.body, start);
      for (const redirect of node.redirects) await judgeRedirect(context, redirect, start);
      return node.own ? staying : inner;
    }
    case 'not': {
      const { ok, failed } = await judgeScript(context, node.body, start);
      return { ok: failed, failed: ok };
    }
    case 'background':
      await judgeScript(context, node.body, start);
      return staying;
    case 'pipeline':
      // Each part is a shell of its own.
      for (const part of node.parts) await judgeScript(context, part, start);
      return staying;
    case 'and': {
      const left = await judgeScript(context, node.left, start);
      const right = await judgeScript(context, node.right, left.ok);
      return { ok: right.ok, failed: union(left.failed, right.failed) };
    }
    case 'or': {
      const left = await judgeScript(context, node.left, start);
      const right = await judgeScript(context, node.right, left.failed);
      return { ok: union(left.ok, right.ok), failed: right.failed };
    }
    case 'sequence': {
      let outcome = staying;
      for (const part of node.parts) outcome = await judgeScript(context, part, union(outcome.ok, outcome.failed));
      return outcome;
    }
  }
}

async function judgeCommandNode(
  context: JudgeContext,
  { words, assignments, redirects }: Extract<ScriptNode, { kind: 'command' }>,
  start: Directories,
): Promise<Outcome> {
  const { judgement } = context;
  for (const redirect of redirects) await judgeRedirect(context, redirect, start);
  for (const { name, value } of assignments) {
    const harmless = words.length > 0 && !value.variable && isHarmlessVariable(name, value.text);
    if (!harmless) judgement.doubtsText(`${name}=${value.text}`, 'a variable can change what the commands do');
  }
  if (words[0]?.text === 'cd') return changeDirectory(context, words, start);
  if (words.length > 0) await judgeInvocation(context, words, start);
  return { ok: start, failed: start };
}

async function changeDirectory(
  context: JudgeContext,
  words: readonly ShellWord[],
  start: Directories,
): Promise<Outcome> {
  const { judgement, paths } = context;
  judgement.count();
  const [target, ...more] = words[1]?.text === '--' ? words.slice(2) : words.slice(1);
  const literal = target && !target.variable && !hasWildcard(target) && !hasBraces(target) && !hasTilde(target);
  if (target) await paths.argument(target, start, 'reads');
  if (!literal || more.length > 0 || target.text === '' || target.text.startsWith('-')) {
    judgement.doubts(words, 'where it leads cannot be told');
    return { ok: start, failed: start };
  }
  const reached = new Set<string>();
  for (const from of start) {
    const to = await paths.directory(target.text, from);
    if (to === undefined) judgement.doubts(words, 'it leads outside the project, or through a link');
    else reached.add(to);
  }
  judgement.runs(words);
  return { ok: reached.size > 0 ? reached : start, failed: start };
}

async function judgeRedirect(
  { judgement, paths }: JudgeContext,
  redirect: Redirect,
  start: Directories,
): Promise<void> {
  const { operator, target } = redirect;
  if (/^[<>]&$/.test(operator) && /^(?:\d+-?|-)$/.test(target.shape)) return; // another descriptor
  const text = `${operator} ${target.text}`;
  if (target.variable || hasWildcard(target) || hasBraces(target) || target.text === '')
    return judgement.doubtsText(text, 'where the redirection leads cannot be told');
  // bash expands this target twice: `>&'$(rm a)'` runs rm, and `>&'a $b'` writes "a ".
  if (operator === '>&' && !/^[\w./+@:,%=-]+$/.test(target.text))
    return judgement.doubtsText(text, 'bash expands what is quoted in it');
  if (/^\/dev\/(?:tcp|udp)\//.test(target.text)) return judgement.doubtsText(text, 'it opens a network connection');
  if (operator === '<') await paths.argument(target, start, 'reads');
  else if (operator === '<&') judgement.doubtsText(text, 'where the redirection leads cannot be told');
  else await paths.written(target, start);
}

function union(a: Directories, b: Directories): Directories {
  return a === b ? a : new Set([...a, ...b]);
}
