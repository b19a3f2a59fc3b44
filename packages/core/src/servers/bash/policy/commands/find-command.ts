// find: which of its tests and actions only look, and the commands that -exec would run.

import type { Invocation } from '../invocation.js';
import { byName, FOLLOWS_LINKS, type OptionTable } from '../option-grammar.js';
import { hasWildcard, type ShellWord } from '../script-tokens.js';
import { READING_COMMANDS } from './reading-commands.js';

/** Tests, actions and operators. https://www.gnu.org/software/findutils/manual/ */
const EXPRESSION: OptionTable = {
  '(': 'flag',
  ')': 'flag',
  '!': 'flag',
  ',': 'flag',
  '-a -and': 'flag',
  '-amin': 'text',
  '-anewer': 'path',
  '-atime': 'text',
  '-cmin': 'text',
  '-cnewer': 'path',
  '-ctime': 'text',
  '-daystart': 'flag',
  '-delete': { effect: 'deletes what it finds' },
  '-depth': 'flag',
  '-empty': 'flag',
  '-executable': 'flag',
  '-false': 'flag',
  '-fls': 'output',
  '-follow': { effect: FOLLOWS_LINKS },
  '-fprint': 'output',
  '-fprint0': 'output',
  '-fprintf': 'output',
  '-gid': 'text',
  '-group': 'text',
  '-H': 'flag',
  '-ilname': 'text',
  '-iname': 'text',
  '-inum': 'text',
  '-ipath -iwholename': 'text',
  '-iregex': 'text',
  '-L': { effect: FOLLOWS_LINKS },
  '-links': 'text',
  '-lname': 'text',
  '-ls': 'flag',
  '-maxdepth': 'text',
  '-mindepth': 'text',
  '-mmin': 'text',
  '-mount -xdev': 'flag',
  '-mtime': 'text',
  '-name': 'text',
  '-newer': 'path',
  '-newermt': 'text',
  '-nogroup': 'flag',
  '-noleaf': 'flag',
  '-not': 'flag',
  '-nouser': 'flag',
  '-o -or': 'flag',
  '-P': 'flag',
  '-path -wholename': 'text',
  '-perm': 'text',
  '-print': 'flag',
  '-print0': 'flag',
  '-printf': 'text',
  '-prune': 'flag',
  '-quit': 'flag',
  '-readable': 'flag',
  '-regex': 'text',
  '-regextype': 'text',
  '-samefile': 'path',
  '-size': 'text',
  '-true': 'flag',
  '-type': 'text',
  '-uid': 'text',
  '-user': 'text',
  '-writable': 'flag',
  '-xtype': 'text',
};
const KINDS = byName(EXPRESSION);
const EXEC: ReadonlySet<string> = new Set(['-exec', '-execdir', '-ok', '-okdir']);

/** The directory that find starts in when it is given none. */
const CURRENT_DIRECTORY: ShellWord = { text: '.', shape: '.', variable: false };

/** Claims what `find` does. */
export async function analyzeFind(find: Invocation): Promise<void> {
  const read = readExpression(find.args);
  if (!read.deletes) await find.claimPaths(read.paths, 'reads');
  else {
    const roots = read.paths.length > 0 ? read.paths : [CURRENT_DIRECTORY];
    await find.claimPaths(roots, 'may write');
    for (const root of roots) await find.paths.wholeProject(root, find.directories);
  }
  for (const word of read.outputs) await find.paths.written(word, find.directories);
  for (const [option, reason] of read.effects) find.claimOption(option, reason);
  for (const command of read.commands) {
    if (command.length > 0) await find.analyzeInner(command);
  }
  if (!read.commands.every(onlyReadsWhatIsFound))
    return find.claimUnknown('what it does with the names that it finds depends on them');
  const wildcard = find.args.some((word) => hasWildcard(word) && !read.paths.includes(word));
  if (read.unlisted !== undefined || wildcard) return find.claimUnlisted(read.unlisted);
  find.claimCommand();
}

/** True for `cat {}`: each name is an operand of a reader, and not part of a word, a program or an option. */
function onlyReadsWhatIsFound(words: readonly ShellWord[]): boolean {
  const [first, ...rest] = words.map(({ text }) => text);
  const placeholders = rest.filter((text) => text.includes('{}'));
  if (placeholders.length === 0) return first?.includes('{}') !== true;
  const spec = READING_COMMANDS.get(first ?? '');
  const at = rest.indexOf('{}');
  const isLast = placeholders.length === 1 && at === rest.length - 1 && !/^-/.test(rest[at - 1] ?? '');
  return isLast && spec !== undefined && spec.maxOperands === undefined;
}

interface FindExpression {
  readonly unlisted: string | undefined;
  readonly effects: readonly (readonly [option: string, reason: string])[];
  readonly paths: readonly ShellWord[];
  readonly deletes: boolean;
  /** Files that it writes. */
  readonly outputs: readonly ShellWord[];
  /** The commands that it runs, with `{}` in the place of what it finds. */
  readonly commands: readonly (readonly ShellWord[])[];
}

function readExpression(words: readonly ShellWord[]): FindExpression {
  const effects: [string, string][] = [];
  const paths: ShellWord[] = [];
  const outputs: ShellWord[] = [];
  const commands: ShellWord[][] = [];
  let unlisted: string | undefined;
  let inExpression = false;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as ShellWord;
    const { text } = word;
    const kind = KINDS.get(text);
    if (EXEC.has(text)) {
      effects.push([text, 'runs a command for what it finds']);
      if (text.endsWith('dir')) unlisted ??= text; // it runs in directories that are not known here
      const end = endOfExec(words, index + 1);
      if (end >= words.length) unlisted ??= text;
      commands.push(words.slice(index + 1, end));
      index = end;
    } else if (kind === undefined) {
      // Paths come first. One that follows the expression is the value of a test that was read in another way here.
      if (text.startsWith('-') || inExpression) unlisted ??= text;
      paths.push(word);
      continue;
    } else if (typeof kind === 'object') {
      effects.push([text, kind.effect]);
    } else if (kind !== 'flag') {
      const value = words[++index];
      if (kind === 'output') {
        effects.push([text, 'writes a file']);
        if (value) outputs.push(value);
        if (text === '-fprintf') index++; // its format
      } else if (!value) unlisted ??= text;
      else if (kind === 'path') paths.push(value);
    }
    inExpression ||= !/^-[HPL]$/.test(text);
  }
  return { unlisted, effects, paths, deletes: effects.some(([option]) => option === '-delete'), outputs, commands };
}

/** The command ends at ";" or at "{} +"; a "+" after anything else is one more argument. */
function endOfExec(words: readonly ShellWord[], start: number): number {
  let end = start;
  while (end < words.length && words[end]?.text !== ';' && !(words[end]?.text === '+' && words[end - 1]?.text === '{}'))
    end++;
  return end;
}
