// Resolves the paths in a command against the directory that it runs in: inside the project, protected, or outside. Every
// text that could be a path is resolved, as only the command knows which it opens.

import { readdir, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, normalize, resolve } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { errnoOf } from '../../project/open/file-failure.js';
import type { ProjectFiles } from '../../project/project-files.js';
import { isInside } from '../../project/scope/project-scope.js';
import { TooComplex, type Analysis } from './analysis.js';
import { hasTilde, hasWildcard, type ShellWord } from './script-tokens.js';

/** The absolute directories that a command may run in: several where a `cd` may have failed. */
export type Directories = ReadonlySet<string>;

/** Devices that every system has, and through which no file is read or changed. */
const HARMLESS_DEVICES: ReadonlySet<string> = new Set(['/dev/null', '/dev/stdin', '/dev/stdout', '/dev/stderr']);
const MAX_LOOKUPS = 1_000;
/** Parts of one word; each may be as long as the word. */
const MAX_PARTS = 200;
const MAX_WILDCARD_ENTRIES = 2_000;

/** Claims the paths of one call. */
export class ArgumentPaths {
  readonly #files: ProjectFiles;
  readonly #analysis: Analysis;
  readonly #places = new Map<string, Promise<Place>>();

  constructor(files: ProjectFiles, analysis: Analysis) {
    this.#files = files;
    this.#analysis = analysis;
  }

  /** Claims every path outside that an argument may name, and protected ones unless the command only reads. */
  async argument(word: ShellWord, directories: Directories, access: 'reads' | 'may write'): Promise<void> {
    if (hasTilde(word)) this.#analysis.claimOutside(word.text.replace(/^[^~]*[=:]/, ''), 'names', false);
    for (const text of possiblePaths(word)) {
      for (const directory of directories) await this.#claim(text, directory, access);
    }
    if (hasWildcard(word)) for (const directory of directories) await this.#wildcard(word, directory);
  }

  /** True for a word that may name the command's input or another open file. */
  namesOpenFile(word: ShellWord): boolean {
    return possiblePaths(word).some((text) => /^\/(?:dev\/(?:stdin|fd)|proc)(?:\/|$)/.test(normalize(text)));
  }

  /** Claims the links in a directory that lead outside, for a command that follows them. */
  async entries(word: ShellWord, directories: Directories): Promise<void> {
    const inside = { text: `${word.text}/*`, shape: `${word.shape}/*`, variable: false };
    for (const directory of directories) await this.#wildcard(inside, directory);
  }

  /** Claims the project directory as protected when a command would change or remove all of it. */
  async wholeProject({ text }: ShellWord, directories: Directories): Promise<void> {
    for (const directory of directories) {
      const place = await this.#place(text, directory);
      if (place.kind === 'inside' && this.#files.scope.roots.some(({ path }) => isInside(place.absolute, path)))
        this.#analysis.claimProtected(place.path, 'names');
    }
  }

  /** Claims a file that is written. */
  async written(word: ShellWord, directories: Directories): Promise<void> {
    const { text } = word;
    if (HARMLESS_DEVICES.has(text)) return;
    if (hasTilde(word)) return this.#analysis.claimOutside(text, 'writes', false);
    for (const directory of directories) {
      const place = await this.#place(text, directory);
      if (place.kind === 'outside') this.#analysis.claimOutside(place.path, 'writes', place.exact);
      else if (place.isProtected) this.#analysis.claimProtected(place.path, 'writes');
      else if (place.fault !== undefined) this.#analysis.claimUnknownText(`> ${text}`, place.fault);
      else this.#analysis.claimWrite(place.path);
    }
  }

  /**
   * The directory that `cd` leads to; undefined when it is outside the project or behind a link, after which `..` means
   * different directories to the shell and to the system.
   */
  async directory(text: string, from: string): Promise<string | undefined> {
    const wanted = resolve(from, text);
    const place = await this.#place(text, from);
    return place.kind === 'inside' && place.fault === undefined && place.absolute === wanted ? wanted : undefined;
  }

  /** The path of a program, relative to the project; undefined when it is outside. */
  async program(text: string, directory: string): Promise<string | undefined> {
    const place = await this.#place(text, directory);
    return place.kind === 'inside' && place.fault === undefined ? place.path : undefined;
  }

  async #claim(text: string, directory: string, access: 'reads' | 'may write'): Promise<void> {
    if (HARMLESS_DEVICES.has(text)) return;
    const place = await this.#place(text, directory);
    if (place.kind === 'outside') this.#analysis.claimOutside(place.path, 'names', place.exact);
    else if (place.fault !== undefined) this.#analysis.claimUnknownText(text, place.fault);
    else if (place.isProtected && access === 'may write') this.#analysis.claimProtected(place.path, 'names');
  }

  #place(text: string, directory: string): Promise<Place> {
    const key = `${directory}\0${text}`;
    let place = this.#places.get(key);
    if (!place) {
      if (this.#places.size >= MAX_LOOKUPS) throw new TooComplex(`it may name more than ${MAX_LOOKUPS} paths`);
      place = this.#lookUp(text, directory);
      this.#places.set(key, place);
    }
    return place;
  }

  async #lookUp(text: string, directory: string): Promise<Place> {
    if (await entersProcess(text, directory)) return { kind: 'outside', path: resolve(directory, text), exact: false };
    const components = text.split('/');
    let path = resolve(directory, text);
    if (components.slice(1).includes('..')) {
      // The system follows a link before it goes up, so each step is resolved by itself.
      path = text.startsWith('/') ? '/' : directory;
      for (const component of components) {
        path = component === '..' ? dirname(path) : resolve(path, component);
        const step = await this.#resolve(path);
        if (step.kind === 'inside') path = step.absolute;
        else path = await realpath(path).catch(() => path);
      }
    }
    return this.#resolve(path);
  }

  async #resolve(path: string): Promise<Place> {
    const { scope } = this.#files;
    const inside = (absolute: string, fault?: string): Place => {
      const found = scope.find(absolute);
      if (!found) return { kind: 'outside', path: absolute, exact: false };
      return { kind: 'inside', absolute, path: found.shown, isProtected: scope.isProtected(found), fault };
    };
    try {
      return inside((await this.#files.resolve(path, 'write')).absolute);
    } catch (error) {
      const { code } = ToolError.from(error);
      if (code === 'OUTSIDE_PROJECT') return outsidePlace(path);
      // INVALID_ARGUMENT: too long for a path, or a cycle of links. The command cannot open it either.
      if (code === 'INVALID_ARGUMENT' || code === 'NOT_FOUND') return inside(path);
    }
    // It may not be written; where it leads is resolved all the same.
    let real = path;
    let fault: string | undefined;
    try {
      real = (await this.#files.resolve(path, 'read')).absolute;
    } catch (error) {
      const { code } = ToolError.from(error);
      if (code === 'OUTSIDE_PROJECT') return outsidePlace(path);
      if (code !== 'NOT_FOUND' && code !== 'INVALID_ARGUMENT') fault = `it cannot be resolved (${code})`;
    }
    const place = inside(real, fault);
    return place.kind === 'inside' ? { ...place, isProtected: true } : place;
  }

  /** Claims the links that a wildcard may match. Names are compared roughly, so that more match than in bash. */
  async #wildcard({ text }: ShellWord, directory: string): Promise<void> {
    const names = text.split('/');
    const first = names.findIndex((name) => /[*?[]/.test(name));
    const start = await this.#place(names.slice(0, first).join('/') || (text.startsWith('/') ? '/' : '.'), directory);
    if (start.kind === 'outside') return; // claimed as outside already
    if (names.slice(first).some((name) => name.startsWith('.')))
      return this.#analysis.claimUnknownText(
        text,
        'a wildcard after a dot, or a ".." after a wildcard, can match ".."',
      );
    let level = [start.absolute];
    let seen = 0;
    for (let depth = first; depth < names.length; depth++) {
      const next: string[] = [];
      for (const parent of level) {
        const entries = await readdir(parent, { withFileTypes: true }).catch(() => []);
        seen += entries.length;
        if (seen > MAX_WILDCARD_ENTRIES)
          return this.#analysis.claimUnknownText(text, `a wildcard may match more than ${MAX_WILDCARD_ENTRIES} files`);
        for (const entry of entries) {
          if (!mayMatch(names[depth] ?? '', entry.name)) continue;
          const path = join(parent, entry.name);
          if (entry.isSymbolicLink()) await this.#claim(path, parent, 'reads');
          if (entry.isSymbolicLink() || entry.isDirectory()) next.push(path);
        }
      }
      level = next;
    }
  }
}

type Place =
  | { kind: 'inside'; absolute: string; path: string; isProtected: boolean; fault: string | undefined }
  | { kind: 'outside'; path: string; exact: boolean };

/** Names that mean another file in each process: its directory, its open files. */
const OF_PROCESS = /^\/(?:proc|dev\/(?:fd|stdin|stdout|stderr))(?:\/|$)/;
/** As many as Linux follows in one path. */
const MAX_LINKS = 40;

/** True for a path that goes through such a name, directly or by a link, even if it leaves it again. */
async function entersProcess(text: string, directory: string): Promise<boolean> {
  const left = text.split('/').reverse();
  let links = 0;
  for (let at = text.startsWith('/') ? '/' : directory; left.length > 0;) {
    const name = left.pop() ?? '';
    at = name === '..' ? dirname(at) : resolve(at, name);
    if (OF_PROCESS.test(at)) return true;
    if (name === '' || name === '.' || name === '..') continue;
    let target: string;
    try {
      target = await readlink(at);
    } catch (error) {
      if (errnoOf(error) === 'EINVAL') continue; // not a link
      return OF_PROCESS.test(resolve(at, left.reverse().join('/') || '.')); // missing, so the system goes no further
    }
    if (++links > MAX_LINKS) return false; // a cycle
    for (const part of target.split('/').reverse()) left.push(part);
    at = target.startsWith('/') ? '/' : dirname(at);
  }
  return false;
}

/** Resolves links outside the project, for the person who reads the claim. */
async function outsidePlace(absolute: string): Promise<Place> {
  try {
    return { kind: 'outside', path: await realpath(absolute), exact: true };
  } catch {
    // It does not exist or is not readable; its directory may be.
  }
  try {
    return { kind: 'outside', path: join(await realpath(dirname(absolute)), basename(absolute)), exact: true };
  } catch {
    return { kind: 'outside', path: absolute, exact: false }; // only its name is known
  }
}

/** The parts of an argument that a program could open as a path: all of it, and what follows `-x`, `=`, `:`, `,`, `@`. */
function possiblePaths({ text }: ShellWord): string[] {
  // A URL of another machine. A program that knows no URLs opens it as a path: its scheme may be a directory here.
  if (/^(?!(?:[a-z.-]+\+)?file:)[a-z][a-z0-9+.-]*:\/\/[^@]*$/i.test(text)) return [text];
  const found = new Set([text, ...decoded(text)]);
  for (let at = 0; at < text.length; at++) {
    if (/[=:,@<>|;&\s"'()]/.test(text[at] as string)) found.add(text.slice(at + 1));
    if (found.size > MAX_PARTS) throw new TooComplex(`one of its words may name more than ${MAX_PARTS} paths`);
  }
  if (/^-[A-Za-z0-9]/.test(text)) for (let at = 2; at < Math.min(text.length, 12); at++) found.add(text.slice(at));
  for (const part of [...found]) {
    const [end] = /^[^=:,@<>|;&\s"'()]*/.exec(part) ?? [''];
    found.add(end);
    found.add(part.replace(/^(?:[a-z.-]+\+)?file:\/\/(?:localhost)?/i, ''));
  }
  return [...found].filter((part) => part !== '' && !part.includes('\0'));
}

/** The path of a percent-encoded `file:` URL; `/` when it cannot be decoded. */
function decoded(text: string): string[] {
  const [, path] = /file:([^]*)$/i.exec(text) ?? [];
  if (path?.includes('%') !== true) return [];
  try {
    return [decodeURIComponent(path).replace(/^\/\/(?:localhost)?/i, '')];
  } catch {
    return ['/'];
  }
}

/** Compares the text before the first and after the last wildcard: more may match than in bash, never less. */
function mayMatch(pattern: string, name: string): boolean {
  if (name.startsWith('.')) return false; // the pattern does not, and dotglob is off
  const [before = ''] = pattern.split(/[*?[\\]/, 1);
  const [after = ''] = /[^*?\]\\]*$/.exec(pattern) ?? [];
  return name.startsWith(before) && name.endsWith(after);
}
