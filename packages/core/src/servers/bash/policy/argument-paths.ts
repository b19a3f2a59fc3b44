// Where the paths in a command lead, seen from the directory that the command runs in: inside the project, protected,
// or outside. Whatever could be a path is looked at; what was meant as one is for the command to know.

import { readdir, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, normalize, resolve } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { errnoOf } from '../../project/open/file-failure.js';
import type { ProjectFiles } from '../../project/project-files.js';
import { isInside } from '../../project/scope/project-scope.js';
import { TooComplex, type Analysis } from './analysis.js';
import { hasTilde, hasWildcard, type ShellWord } from './script-tokens.js';

/** Absolute directories that a command may run in: more than one where a `cd` may have failed. */
export type Directories = ReadonlySet<string>;

/** Always there, and nothing is read or changed through them. */
const HARMLESS_DEVICES: ReadonlySet<string> = new Set(['/dev/null', '/dev/stdin', '/dev/stdout', '/dev/stderr']);
const MAX_LOOKUPS = 1_000;
/** The parts of one word; each may be as long as the word. */
const MAX_PARTS = 200;
const MAX_MATCHED = 2_000;

/** Judges the paths of one call. */
export class ArgumentPaths {
  readonly #files: ProjectFiles;
  readonly #analysis: Analysis;
  readonly #known = new Map<string, Promise<Place>>();

  constructor(files: ProjectFiles, analysis: Analysis) {
    this.#files = files;
    this.#analysis = analysis;
  }

  /** Claims every outside path that an argument may name; also the protected ones, unless the command only reads. */
  async argument(word: ShellWord, directories: Directories, only: 'reads' | 'may write'): Promise<void> {
    if (hasTilde(word)) this.#analysis.claimOutside(word.text.replace(/^[^~]*[=:]/, ''), 'names', false);
    for (const text of possiblePaths(word)) {
      for (const directory of directories) await this.#claim(text, directory, only);
    }
    if (hasWildcard(word)) for (const directory of directories) await this.#wildcard(word, directory);
  }

  /** True for a word that names what the command gets on its input, or another open file. */
  namesOpenFile(word: ShellWord): boolean {
    return possiblePaths(word).some((text) => /^\/(?:dev\/(?:stdin|fd)|proc)(?:\/|$)/.test(normalize(text)));
  }

  /** Claims the links in a directory that lead outside: a command that looks into it follows them. */
  async entries(word: ShellWord, directories: Directories): Promise<void> {
    const inside = { text: `${word.text}/*`, shape: `${word.shape}/*`, variable: false };
    for (const directory of directories) await this.#wildcard(inside, directory);
  }

  /** Claims the project itself where a command would change or remove all of it, the protected paths with it. */
  async wholeProject({ text }: ShellWord, directories: Directories): Promise<void> {
    for (const directory of directories) {
      const place = await this.#place(text, directory);
      if (place.kind === 'inside' && this.#files.scope.roots.some(({ path }) => isInside(place.absolute, path)))
        this.#analysis.claimProtected(place.path, 'names');
    }
  }

  /** Claims a file that would be written. */
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
   * The directory that `cd` leads to; undefined unless it is inside the project, and reached without a link: after
   * one, the shell's `..` and the system's are different directories.
   */
  async directory(text: string, from: string): Promise<string | undefined> {
    const wanted = resolve(from, text);
    const place = await this.#place(text, from);
    return place.kind === 'inside' && place.fault === undefined && place.absolute === wanted ? wanted : undefined;
  }

  /** The project-relative name of a program that is given by path; undefined when it is outside. */
  async program(text: string, directory: string): Promise<string | undefined> {
    const place = await this.#place(text, directory);
    return place.kind === 'inside' && place.fault === undefined ? place.path : undefined;
  }

  async #claim(text: string, directory: string, only: 'reads' | 'may write'): Promise<void> {
    if (HARMLESS_DEVICES.has(text)) return;
    const place = await this.#place(text, directory);
    if (place.kind === 'outside') this.#analysis.claimOutside(place.path, 'names', place.exact);
    else if (place.fault !== undefined) this.#analysis.claimUnknownText(text, place.fault);
    else if (place.isProtected && only === 'may write') this.#analysis.claimProtected(place.path, 'names');
  }

  #place(text: string, directory: string): Promise<Place> {
    const key = `${directory}\0${text}`;
    let place = this.#known.get(key);
    if (!place) {
      if (this.#known.size >= MAX_LOOKUPS) throw new TooComplex(`it names more than ${MAX_LOOKUPS} paths`);
      place = this.#lookUp(text, directory);
      this.#known.set(key, place);
    }
    return place;
  }

  async #lookUp(text: string, directory: string): Promise<Place> {
    if (await entersProcess(text, directory)) return { kind: 'outside', path: resolve(directory, text), exact: false };
    const components = text.split('/');
    let asked = resolve(directory, text);
    if (components.slice(1).includes('..')) {
      // The system follows a link before it goes up, so each step is looked at by itself.
      asked = text.startsWith('/') ? '/' : directory;
      for (const component of components) {
        asked = component === '..' ? dirname(asked) : resolve(asked, component);
        const step = await this.#one(asked);
        if (step.kind === 'inside') asked = step.absolute;
        else asked = await realpath(asked).catch(() => asked);
      }
    }
    return this.#one(asked);
  }

  async #one(asked: string): Promise<Place> {
    const { scope } = this.#files;
    const inside = (absolute: string, fault?: string): Place => {
      const found = scope.find(absolute);
      if (!found) return { kind: 'outside', path: absolute, exact: false };
      return { kind: 'inside', absolute, path: found.shown, isProtected: scope.isProtected(found), fault };
    };
    try {
      return inside((await this.#files.resolve(asked, 'write')).absolute);
    } catch (error) {
      const { code } = ToolError.from(error);
      if (code === 'OUTSIDE_PROJECT') return outsidePlace(asked);
      // INVALID_ARGUMENT: too long for a path, or links in a circle. The command will find nothing either.
      if (code === 'INVALID_ARGUMENT' || code === 'NOT_FOUND') return inside(asked);
    }
    // It may not be written, by its name or its root; a link in it is followed all the same.
    let real = asked;
    let fault: string | undefined;
    try {
      real = (await this.#files.resolve(asked, 'read')).absolute;
    } catch (error) {
      const { code } = ToolError.from(error);
      if (code === 'OUTSIDE_PROJECT') return outsidePlace(asked);
      if (code !== 'NOT_FOUND' && code !== 'INVALID_ARGUMENT') fault = `where it leads cannot be told (${code})`;
    }
    const place = inside(real, fault);
    return place.kind === 'inside' ? { ...place, isProtected: true } : place;
  }

  /** What a wildcard may match must not lead outside through a link. Names are not compared: more is looked at. */
  async #wildcard({ text }: ShellWord, directory: string): Promise<void> {
    const names = text.split('/');
    const first = names.findIndex((name) => /[*?[]/.test(name));
    const start = await this.#place(names.slice(0, first).join('/') || (text.startsWith('/') ? '/' : '.'), directory);
    if (start.kind === 'outside') return; // it was claimed as outside already
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
        if (seen > MAX_MATCHED)
          return this.#analysis.claimUnknownText(text, `a wildcard over more than ${MAX_MATCHED} files`);
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

/** Where a process finds what is its own: its directory, its open files. In the command's process it is something else. */
const OF_PROCESS = /^\/(?:proc|dev\/(?:fd|stdin|stdout|stderr))(?:\/|$)/;
/** Links behind links, as many as Linux follows. */
const MAX_LINKS = 40;

/** True for a path that goes through such a place, by its name or by a link, also one that leads out again. */
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
      if (errnoOf(error) === 'EINVAL') continue; // no link
      return OF_PROCESS.test(resolve(at, left.reverse().join('/') || '.')); // nothing there, so the system goes no further
    }
    if (++links > MAX_LINKS) return false; // in a circle
    for (const part of target.split('/').reverse()) left.push(part);
    at = target.startsWith('/') ? '/' : dirname(at);
  }
  return false;
}

/** Outside, links are followed for the one who reads the claim, as far as the system tells. */
async function outsidePlace(absolute: string): Promise<Place> {
  try {
    return { kind: 'outside', path: await realpath(absolute), exact: true };
  } catch {
    // It does not exist, or may not be looked at: what is above it may.
  }
  try {
    return { kind: 'outside', path: join(await realpath(dirname(absolute)), basename(absolute)), exact: true };
  } catch {
    return { kind: 'outside', path: absolute, exact: false }; // nothing can be told but its name
  }
}

/** The parts of an argument that a program could take for a path: all of it, and what follows `-x`, `=`, `:`, `,`, `@`. */
function possiblePaths({ text }: ShellWord): string[] {
  // A URL of another machine. A program that knows none takes it for a path: its scheme may be a directory here.
  if (/^(?!(?:[a-z.-]+\+)?file:)[a-z][a-z0-9+.-]*:\/\/[^@]*$/i.test(text)) return [text];
  const found = new Set([text, ...decoded(text)]);
  for (let at = 0; at < text.length; at++) {
    if (/[=:,@<>|;&\s"'()]/.test(text[at] as string)) found.add(text.slice(at + 1));
    if (found.size > MAX_PARTS) throw new TooComplex(`one of its words could hold more than ${MAX_PARTS} paths`);
  }
  if (/^-[A-Za-z0-9]/.test(text)) for (let at = 2; at < Math.min(text.length, 12); at++) found.add(text.slice(at));
  for (const part of [...found]) {
    const [end] = /^[^=:,@<>|;&\s"'()]*/.exec(part) ?? [''];
    found.add(end);
    found.add(part.replace(/^(?:[a-z.-]+\+)?file:\/\/(?:localhost)?/i, ''));
  }
  return [...found].filter((part) => part !== '' && !part.includes('\0'));
}

/** The path of a `file:` URL that is written in escapes; `/` where they cannot be read. */
function decoded(text: string): string[] {
  const [, path] = /file:([^]*)$/i.exec(text) ?? [];
  if (path?.includes('%') !== true) return [];
  try {
    return [decodeURIComponent(path).replace(/^\/\/(?:localhost)?/i, '')];
  } catch {
    return ['/'];
  }
}

/** Compares what stands before the first and after the last wildcard: more may match here than in bash, never less. */
function mayMatch(pattern: string, name: string): boolean {
  if (name.startsWith('.')) return false; // and the pattern does not: dotglob is off
  const [before = ''] = pattern.split(/[*?[\\]/, 1);
  const [after = ''] = /[^*?\]\\]*$/.exec(pattern) ?? [];
  return name.startsWith(before) && name.endsWith(after);
}
