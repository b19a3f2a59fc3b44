// find: the tests and actions that only look, and the commands that -exec would run.

import type { ShellWord } from './script-tokens.js';

const ALONE: ReadonlySet<string> = new Set(
  '( ) ! , -not -a -and -o -or -print -print0 -ls -prune -quit -empty -true -false -depth -xdev -mount -daystart -executable -readable -writable -nouser -nogroup -noleaf -H -P'.split(' '), // prettier-ignore
);
const WITH_TEXT: ReadonlySet<string> = new Set(
  '-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -maxdepth -mindepth -size -mtime -mmin -atime -amin -ctime -cmin -perm -user -group -uid -gid -links -inum -printf -regextype -newermt'.split(' '), // prettier-ignore
);
const WITH_PATH: ReadonlySet<string> = new Set('-newer -anewer -cnewer -samefile'.split(' '));
const EXEC: ReadonlySet<string> = new Set(['-exec', '-execdir', '-ok', '-okdir']);
const EFFECTS: Readonly<Record<string, string>> = {
  '-delete': 'deletes what it finds',
  '-fprint': 'writes a file',
  '-fprint0': 'writes a file',
  '-fprintf': 'writes a file',
  '-fls': 'writes a file',
  '-L': 'follows links, which may lead outside the project',
  '-follow': 'follows links, which may lead outside the project',
};

export interface FindExpression {
  readonly unlisted: string | undefined;
  readonly effects: readonly (readonly [option: string, reason: string])[];
  readonly paths: readonly ShellWord[];
  /** It deletes what it finds below its paths; without any, below the current directory. */
  readonly deletes: boolean;
  /** Files that it would write. */
  readonly writes: readonly ShellWord[];
  /** The commands that it would run, with `{}` where it puts what it finds. */
  readonly runs: readonly (readonly ShellWord[])[];
}

/** Takes the words after `find` apart. */
export function readFindExpression(words: readonly ShellWord[]): FindExpression {
  const effects: [string, string][] = [];
  const paths: ShellWord[] = [];
  const writes: ShellWord[] = [];
  const runs: ShellWord[][] = [];
  let unlisted: string | undefined;
  let inExpression = false;
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as ShellWord;
    const { text } = word;
    const effect = Object.hasOwn(EFFECTS, text) ? EFFECTS[text] : undefined;
    if (ALONE.has(text)) {
      // Nothing follows.
    } else if (WITH_TEXT.has(text)) {
      if (words[++index] === undefined) unlisted ??= text;
    } else if (WITH_PATH.has(text)) {
      const path = words[++index];
      if (path) paths.push(path);
      else unlisted ??= text;
    } else if (EXEC.has(text)) {
      effects.push([text, 'runs a command for what it finds']);
      if (text.endsWith('dir')) unlisted ??= text; // it runs in directories that are not known here
      // It ends at ";" or at "{} +"; a "+" after anything else is one more argument.
      let end = index + 1;
      while (
        end < words.length &&
        words[end]?.text !== ';' &&
        !(words[end]?.text === '+' && words[end - 1]?.text === '{}')
      )
        end++;
      if (end >= words.length) unlisted ??= text;
      runs.push(words.slice(index + 1, end));
      index = end;
    } else if (effect !== undefined) {
      effects.push([text, effect]);
      if (text.startsWith('-f') && text !== '-follow') {
        const file = words[++index];
        if (file) writes.push(file);
        if (text === '-fprintf') index++; // its format
      }
    } else {
      // Paths come first: one that stands behind the expression is the value of something that was read otherwise here.
      if (text.startsWith('-') || inExpression) unlisted ??= text;
      paths.push(word);
      continue;
    }
    inExpression ||= !/^-[HPL]$/.test(text);
  }
  return { unlisted, effects, paths, deletes: effects.some(([option]) => option === '-delete'), writes, runs };
}
