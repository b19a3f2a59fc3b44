// Reads the arguments of a known command by the table of its options. A table lists what is allowed: it stays correct
// when a program gets a new option, which a list of dangerous options would miss.

import type { ShellWord } from './script-tokens.js';

/**
 * What an option takes: nothing (a long one may still carry `=value`), text that is not a path, a number, text that may
 * be a path, or the name of a file that is written. `effect` says what an option without a value does beyond reading.
 */
export type OptionKind = 'flag' | 'text' | 'number' | 'path' | 'output' | { readonly effect: string };

/** Options by their names, separated by a space: `'-o --output': 'output'`. */
export type OptionTable = Readonly<Record<string, OptionKind>>;

/** The effect of options that follow links. */
export const FOLLOWS_LINKS = 'follows links, which may resolve outside the project';

/** A known command: its options, and how it takes its operands. */
export interface CommandSpec {
  /** The options that are understood. Default: none. */
  options?: OptionTable;
  /** `-20` is an option. */
  numericOption?: true;
  /** How many leading operands are a pattern or a program, not a path. Default: 0. */
  textOperands?: number;
  /** Options that give the pattern: with one of them, all operands are paths. */
  patternOptions?: readonly string[];
  /** `-ps` is one option, not `-p -s`. A value that is joined to its letter must be a number. */
  unbundled?: true;
  /** Whatever follows the first operand is an operand. */
  optionsFirst?: true;
  /** A letter with a value takes it from the next word; only a number may be joined to it. */
  detachedValues?: true;
  /** Every argument is an operand: `test -f x`. */
  allOperands?: true;
  /** Operands beyond this number name files that are written. Default: any number of operands. */
  maxOperands?: number;
  /** `'text'`: no operand is a path. */
  operands?: 'text';
  /** The first word may be a bundle without a dash: `tar tf a.tar`. These letters take a value. */
  dashlessBundle?: string;
  /** It reads every entry of a directory operand, and follows links among them. */
  readsDirectoryEntries?: true;
  /** No option does harm, so a wildcard may match a file whose name starts with a dash. */
  safeWithAnyOption?: true;
  /** It only prints its arguments, so they may contain variables. */
  printsArguments?: true;
  /** Why operands or values make it do more than its name says; undefined when they do not. */
  unknown?: (read: ReadOptions) => string | undefined;
}

/** Arguments, taken apart. */
export interface ReadOptions {
  /** The first option that is not in the table; undefined when all are. */
  readonly unlisted: string | undefined;
  readonly effects: readonly (readonly [option: string, reason: string])[];
  /** Names of files that are written. */
  readonly outputs: readonly ShellWord[];
  /** Operands and values that may be paths. */
  readonly paths: readonly ShellWord[];
  /** Everything that is neither an option nor the value of one. */
  readonly operands: readonly ShellWord[];
  /** Leading operands that are not paths. */
  readonly texts: readonly ShellWord[];
  /** Every option that was given, with its value. */
  readonly given: readonly (readonly [option: string, value: ShellWord | undefined])[];
}

/** Reads the words after a command's name. */
export function readOptions(spec: CommandSpec, words: readonly ShellWord[]): ReadOptions {
  if (spec.allOperands) {
    const paths = spec.operands === 'text' ? [] : words;
    return { unlisted: undefined, effects: [], outputs: [], paths, operands: words, texts: [], given: [] };
  }
  const kinds = kindsOf(spec);
  const effects: [string, string][] = [];
  const outputs: ShellWord[] = [];
  const paths: ShellWord[] = [];
  const operands: ShellWord[] = [];
  const given: [string, ShellWord | undefined][] = [];
  let unlisted: string | undefined;
  let onlyOperands = false;
  // Some programs take no separate value where others do: then the word would be an option, or a path.
  const valueAt = (option: string, index: number): ShellWord | undefined => {
    const value = words[index];
    if (!value || /^-[^\d]/.test(value.text)) unlisted ??= option;
    else if (/^(?:\/.|~|\.\.)/.test(value.text) || PLAIN_NAME.test(value.shape)) paths.push(value);
    return value;
  };
  const add = (option: string, value: ShellWord | undefined): void => {
    given.push([option, value]);
    const kind = kinds.get(option);
    if (kind === 'number' && !NUMBER.test(value?.text ?? '')) unlisted ??= option;
    if (typeof kind === 'object') effects.push([option, kind.effect]);
    if (value && kind === 'output') outputs.push(value);
    else if (value && kind !== 'text' && kind !== 'number') paths.push(value);
  };
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as ShellWord;
    const { text } = word;
    if (onlyOperands || text === '-' || !text.startsWith('-')) {
      operands.push(word);
      onlyOperands ||= spec.optionsFirst === true;
    } else if (text === '--') onlyOperands = true;
    else if (spec.numericOption && /^-\d+$/.test(text)) continue;
    else if (text.startsWith('--')) {
      const equals = text.indexOf('=');
      const option = equals < 0 ? text : text.slice(0, equals);
      const kind = kinds.get(option);
      if (kind === undefined) unlisted ??= option;
      add(option, equals >= 0 ? partOf(word, equals + 1) : takesValue(kind) ? valueAt(option, ++index) : undefined);
    } else if (spec.unbundled && text.length > 2 && !/^-.[+-]?(?:0x)?[\da-f]+$/i.test(text)) {
      unlisted ??= text;
    } else {
      for (let at = 1; at < text.length; at++) {
        const option = `-${text[at] as string}`;
        const kind = kinds.get(option);
        if (kind === undefined) unlisted ??= option;
        if (!takesValue(kind)) {
          add(option, undefined);
          continue;
        }
        const value = at + 1 < text.length ? partOf(word, at + 1) : valueAt(option, ++index);
        if (spec.detachedValues && at + 1 < text.length && !/^\d+$/.test(text.slice(at + 1))) unlisted ??= text;
        add(option, value);
        break;
      }
    }
  }
  const pathOperands = [...operands];
  const hasPattern = given.some(([option]) => spec.patternOptions?.includes(option));
  const texts = pathOperands.splice(0, hasPattern ? 0 : (spec.textOperands ?? 0));
  for (const operand of pathOperands.splice(spec.maxOperands ?? Infinity)) outputs.push(operand);
  return {
    unlisted,
    effects,
    outputs,
    paths: [...paths, ...texts.filter(({ shape }) => PLAIN_NAME.test(shape)), ...pathOperands],
    operands,
    texts,
    given,
  };
}

/** The end of a word, from a position on. */
export function partOf({ text, shape, variable }: ShellWord, start: number): ShellWord {
  return { text: text.slice(start), shape: shape.slice(start), variable };
}

/** A table with one entry for each name of an option. */
export function byName<Entry>(table: Readonly<Record<string, Entry>>): ReadonlyMap<string, Entry> {
  return new Map(Object.entries(table).flatMap(([names, entry]) => names.split(' ').map((name) => [name, entry])));
}

/** A word that another program of the same name could read as a file, which may be a link to outside. */
const PLAIN_NAME = /^[\w@%+.-]+(?:\/[\w@%+.-]+)*$/;
const NUMBER = /^[+-]?(?:0x[\da-f]+|\d+(?:\.\d+)?[A-Za-z]{0,3})$/i;

function takesValue(kind: OptionKind | undefined): boolean {
  return typeof kind === 'string' && kind !== 'flag';
}

const kindsBySpec = new WeakMap<CommandSpec, ReadonlyMap<string, OptionKind>>();

function kindsOf(spec: CommandSpec): ReadonlyMap<string, OptionKind> {
  let kinds = kindsBySpec.get(spec);
  if (!kinds) kindsBySpec.set(spec, (kinds = byName(spec.options ?? {})));
  return kinds;
}
