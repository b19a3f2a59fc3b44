// The options of a command that is known: each is on its list, or the command is not understood. A list of what is
// harmless stays right when a program learns a new option; a list of what is harmful does not.

import type { ShellWord } from './script-tokens.js';

/** What a known command may be given. Lists are words: `--long`, or letters of one-letter options, `ali`. */
export interface OptionList {
  /** Options without a value. A long one may carry `=value`. */
  flags?: string;
  /** Options with a value that is no path. */
  texts?: string;
  /** Options with a number for a value; one with anything else is not understood. */
  numbers?: string;
  /** Options with a value that may be a path. */
  values?: string;
  /** Options with a value that names a file to write. */
  writes?: string;
  /** Options that make the command do more than read: the option, and what it does. */
  effects?: Readonly<Record<string, string>>;
  /** `-20` is an option. */
  numeric?: boolean;
  /** So many leading operands are no paths: a pattern, a program. */
  textOperands?: number;
  /** One of these gives the pattern instead, and then all operands are paths. */
  insteadOfOperand?: string;
  /** Letters are not joined: `-ps` is no `-p -s`. A value that is joined to its letter is a number. */
  single?: true;
  /** Options stand before the operands: what follows the first operand is one, whatever it looks like. */
  leading?: true;
  /** Letters with a value take the next word, whatever is joined to them; only a number may be. */
  detached?: true;
  /** At most so many operands; more would be written to. Default: any number. */
  maxOperands?: number;
}

/** An argument list taken apart. */
export interface ReadOptions {
  /** The first option that is not on the list; undefined when all are. */
  readonly unlisted: string | undefined;
  readonly effects: readonly (readonly [option: string, reason: string])[];
  readonly writes: readonly ShellWord[];
  /** Operands and values that may be paths. */
  readonly paths: readonly ShellWord[];
  /** Everything that is neither an option nor the value of one. */
  readonly operands: readonly ShellWord[];
  /** Leading operands that are no paths. */
  readonly texts: readonly ShellWord[];
  /** Every option that was given, by its listed name, with its value. */
  readonly given: readonly (readonly [option: string, value: ShellWord | undefined])[];
}

/** Takes the words after a command's name apart. */
export function readOptions(list: OptionList, words: readonly ShellWord[]): ReadOptions {
  const kinds = kindsOf(list);
  const effects: [string, string][] = [];
  const writes: ShellWord[] = [];
  const paths: ShellWord[] = [];
  const operands: ShellWord[] = [];
  const given: [string, ShellWord | undefined][] = [];
  let unlisted: string | undefined;
  let rest = false;
  // Some programs take no separate value where others do: then the word would be an option, or a path.
  const following = (option: string, index: number): ShellWord | undefined => {
    const value = words[index];
    if (!value || /^-[^\d]/.test(value.text)) unlisted ??= option;
    else if (/^(?:\/.|~|\.\.)/.test(value.text) || BARE.test(value.shape)) paths.push(value);
    return value;
  };
  const take = (option: string, value: ShellWord | undefined): void => {
    given.push([option, value]);
    const kind = kinds.get(option);
    const effect = list.effects?.[option];
    if (kind === 'numbers' && !NUMBER.test(value?.text ?? '')) unlisted ??= option;
    if (effect !== undefined) effects.push([option, effect]);
    if (value && kind === 'writes') writes.push(value);
    else if (value && kind !== 'texts' && kind !== 'numbers') paths.push(value);
  };
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as ShellWord;
    const { text } = word;
    if (rest || text === '-' || !text.startsWith('-')) {
      operands.push(word);
      rest ||= list.leading === true;
    } else if (text === '--') rest = true;
    else if (list.numeric && /^-\d+$/.test(text)) continue;
    else if (text.startsWith('--')) {
      const equals = text.indexOf('=');
      const option = equals < 0 ? text : text.slice(0, equals);
      const kind = kinds.get(option);
      if (kind === undefined) unlisted ??= option;
      const value = equals >= 0 ? partOf(word, equals + 1) : takesValue(kind) ? following(option, ++index) : undefined;
      take(option, value);
    } else if (list.single && text.length > 2 && !/^-.[+-]?(?:0x)?[\da-f]+$/i.test(text)) {
      unlisted ??= text;
    } else {
      for (let at = 1; at < text.length; at++) {
        const option = `-${text[at] as string}`;
        const kind = kinds.get(option);
        if (kind === undefined) unlisted ??= option;
        if (!takesValue(kind)) {
          take(option, undefined);
          continue;
        }
        const value = at + 1 < text.length ? partOf(word, at + 1) : following(option, ++index);
        if (list.detached && at + 1 < text.length && !/^\d+$/.test(text.slice(at + 1))) unlisted ??= text;
        take(option, value);
        break;
      }
    }
  }
  const all = [...operands];
  const instead = given.some(([option]) => listedOptions(list.insteadOfOperand).includes(option));
  const texts = operands.splice(0, instead ? 0 : (list.textOperands ?? 0));
  if (list.maxOperands !== undefined && operands.length > list.maxOperands)
    for (const operand of operands.splice(list.maxOperands)) writes.push(operand);
  return {
    unlisted,
    effects,
    writes,
    paths: [...paths, ...texts.filter(({ shape }) => BARE.test(shape)), ...operands],
    operands: all,
    texts,
    given,
  };
}

/** The end of a word, from a place on. */
export function partOf({ text, shape, variable }: ShellWord, start: number): ShellWord {
  return { text: text.slice(start), shape: shape.slice(start), variable };
}

const KINDS = ['flags', 'texts', 'numbers', 'values', 'writes'] as const;
type Kind = (typeof KINDS)[number];
/** A plain name. Where another program of the same name takes it for a file, it may be a link that leads outside. */
const BARE = /^[\w@%+.-]+(?:\/[\w@%+.-]+)*$/;
const NUMBER = /^[+-]?(?:0x[\da-f]+|\d+(?:\.\d+)?[A-Za-z]{0,3})$/i;

function takesValue(kind: Kind | undefined): boolean {
  return kind !== undefined && kind !== 'flags';
}

const known = new WeakMap<OptionList, ReadonlyMap<string, Kind>>();

function kindsOf(list: OptionList): ReadonlyMap<string, Kind> {
  let kinds = known.get(list);
  if (!kinds) {
    const all: [string, Kind][] = [];
    for (const kind of KINDS) for (const option of listedOptions(list[kind])) all.push([option, kind]);
    for (const option of Object.keys(list.effects ?? {}))
      if (!all.some(([each]) => each === option)) all.push([option, 'flags']);
    kinds = new Map(all);
    known.set(list, kinds);
  }
  return kinds;
}

/** The options of a list, as they are written. */
export function listedOptions(options: string | undefined): string[] {
  return (options ?? '')
    .split(' ')
    .filter((each) => each !== '')
    .flatMap((each) => (each.startsWith('--') ? [each] : Array.from(each, (letter) => `-${letter}`)));
}
