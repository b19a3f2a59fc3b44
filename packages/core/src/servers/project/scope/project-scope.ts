// Decides which paths are inside the project, and which of them may be written; no other module does. It checks paths;
// opened-path.ts opens them and checks the opened object again.

import { realpathSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { assertOptions, shownValue, type OptionNames } from '../../../contract/options.js';
import { configuredPaths, gitDirOf } from './configured-paths.js';
import { foldName, protectedIndex } from './protected-paths.js';

/** A directory outside the project that the tools may access. */
export interface ExtraRoot {
  /** Absolute, existing; not `/`, the home directory or a parent of it. */
  path: string;
  /** `'ro'`: read only. If roots overlap, the mode of the innermost one applies. */
  mode: 'ro' | 'rw';
}

/** Options of {@link ProjectScope}. */
export interface ProjectScopeOptions {
  /** The directory that the tools may access: absolute, existing; not `/`, the home directory or a parent of it. */
  projectDir: string;
  /** More directories. Default: none. */
  extraRoots?: readonly ExtraRoot[] | undefined;
  /**
   * Protected paths that may be written nevertheless, relative to the project (or to an extra root), each with everything
   * below it: `['.vscode', '.claude/commands']`. Default: none.
   */
  allowProtected?: readonly string[] | undefined;
  /**
   * How an opened file is verified to be the checked one: by the path of its descriptor, which needs Linux and a mounted
   * /proc, or by comparing device and inode, which leaves a narrow race with a process that swaps directories. Default:
   * `'descriptor'` if the system supports it.
   */
  verification?: 'descriptor' | 'inode' | undefined;
}

/** The names of {@link ProjectScopeOptions}. */
export const SCOPE_OPTIONS: OptionNames<ProjectScopeOptions> = {
  projectDir: true,
  extraRoots: 'array',
  allowProtected: 'array',
  verification: true,
};
const ROOT_OPTIONS: OptionNames<ExtraRoot> = { path: true, mode: true };

/** A root of the scope, its path real. */
export interface ScopeRoot {
  /** The absolute path. */
  readonly path: string;
  /** Whether files in it may be written. */
  readonly mode: 'ro' | 'rw';
  /** True for the project directory, false for an extra root. */
  readonly isProject: boolean;
}

/** A path that is inside the scope. */
export interface ScopePath {
  /** The root that contains it. */
  readonly root: ScopeRoot;
  /** The absolute path. */
  readonly absolute: string;
  /** The path in results: relative to the project, with `/`; absolute in an extra root. The project itself is `.`. */
  readonly shown: string;
}

/** https://man7.org/linux/man-pages/man7/path_resolution.7.html: PATH_MAX, and NAME_MAX of every common file system. */
const MAX_PATH_BYTES = 4096;
const MAX_NAME_BYTES = 255;

/** The directories that tools may access, and the checks of every path against them. */
export class ProjectScope {
  /** The project directory, with its links resolved once. */
  readonly projectDir: string;
  /** Innermost first. */
  readonly roots: readonly ScopeRoot[];
  /** How an opened file is verified to be the one that was checked. */
  readonly verification: 'descriptor' | 'inode';
  readonly #project: ScopeRoot;
  /** Roots as spelled in the options, which may contain links. */
  readonly #given: readonly { spelling: string; root: ScopeRoot }[];
  readonly #opened: readonly (readonly string[])[];

  /** @throws {ToolError} INVALID_ARGUMENT for a directory that is relative, missing, or too wide, and for an unknown option. */
  constructor(options: ProjectScopeOptions) {
    assertOptions('new ProjectScope()', options, SCOPE_OPTIONS);
    const project = { path: realDirectory('projectDir', options.projectDir), mode: 'rw', isProject: true } as const;
    const given: { spelling: string; root: ScopeRoot }[] = [{ spelling: resolve(options.projectDir), root: project }];
    for (const [index, root] of (options.extraRoots ?? []).entries()) {
      assertOptions('new ProjectScope()', root, ROOT_OPTIONS, `extraRoots[${index}].`);
      const { path, mode } = root;
      // Untyped callers (JavaScript, JSON configuration): an unknown mode must not mean "may write".
      if (mode !== 'ro' && mode !== 'rw')
        throw wrong(`extraRoots[${index}].mode must be 'ro' or 'rw', not ${JSON.stringify(mode)}.`);
      const real = realDirectory(`extraRoots[${index}].path`, path);
      given.push({ spelling: resolve(path), root: { path: real, mode, isProject: false } });
    }
    this.projectDir = project.path;
    this.#project = project;
    this.#given = given;
    this.roots = given.map(({ root }) => root).sort((a, b) => b.path.length - a.path.length);
    const { verification } = options;
    if (verification !== undefined && !['descriptor', 'inode'].includes(verification))
      throw wrong(`verification must be 'descriptor' or 'inode', not ${shownValue(verification)}.`);
    const unnamed = (options.allowProtected ?? []).find((path: unknown) => typeof path !== 'string' || path === '');
    if (unnamed !== undefined) throw wrong(`allowProtected must contain paths, not ${shownValue(unnamed)}.`);
    this.verification = options.verification ?? (canReadDescriptors() ? 'descriptor' : 'inode');
    this.#opened = (options.allowProtected ?? []).map((path) =>
      path
        .split(/[/\\]/)
        .filter((name) => name !== '' && name !== '.')
        .map(foldName),
    );
  }

  /**
   * Checks a path as a caller wrote it, absolute or relative to the project. Nothing is expanded or decoded, and the file
   * system is not accessed: the target is checked again when it is opened.
   *
   * @throws {ToolError} INVALID_ARGUMENT for an invalid path, OUTSIDE_PROJECT
   */
  parse(path: unknown): ScopePath {
    const text = checkedText(path);
    const absolute = resolve(this.projectDir, text);
    for (const name of absolute.split(sep)) {
      if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
        throw wrong(
          `A name in the path is longer than ${MAX_NAME_BYTES} bytes: ${quote(`${name.slice(0, 40)}...`)}. Use a shorter name.`,
        );
      }
    }
    const inside = this.find(absolute) ?? this.#findByGivenSpelling(absolute);
    if (!inside) throw this.outside(text);
    return inside;
  }

  /** The scope path of a real absolute path; undefined if it is outside. */
  find(absolute: string): ScopePath | undefined {
    if (!isAbsolute(absolute)) return undefined;
    for (const root of this.roots) if (isInside(root.path, absolute)) return this.#place(root, absolute);
    return undefined;
  }

  /**
   * @throws {ToolError} PROTECTED_PATH for a path that may not be written, PERMISSION_DENIED in a read-only root
   */
  assertWritable({ root, absolute, shown }: ScopePath): void {
    if (root.mode === 'ro') {
      throw new ToolError(
        'PERMISSION_DENIED',
        `${quote(shown)} is in ${root.path}, which is read-only. Write inside the project instead.`,
      );
    }
    const name = this.#protectedName(root, absolute);
    if (name === undefined) return;
    throw new ToolError(
      'PROTECTED_PATH',
      `${quote(shown)} is protected, as programs run or trust the content of ${quote(name)}. Ask the operator to change it, or to list it in allowProtected.`,
      { details: { protected: name } },
    );
  }

  /** Whether {@link assertWritable} refuses it for its name, or because git's configuration refers to it. */
  isProtected({ root, absolute }: ScopePath): boolean {
    return this.#protectedName(root, absolute) !== undefined;
  }

  /** The part of a path that makes it protected, relative to its root. */
  #protectedName(root: ScopeRoot, absolute: string): string | undefined {
    const components = relative(root.path, absolute).split(sep);
    const index = protectedIndex(components, this.#opened);
    if (index >= 0) return components.slice(0, index + 1).join('/');
    const folded = components.map(foldName);
    for (const paths of [configuredPaths(root.path), ...pathsOfRepositoriesAbove(root.path, components)]) {
      for (const path of paths) {
        const names = relative(root.path, path).split(sep);
        if (!startsWith(folded, names.map(foldName))) continue;
        if (!this.#opened.some((opened) => opened.length > 0 && startsWith(folded, opened))) return names.join('/');
      }
    }
    return undefined;
  }

  /** Whether a path is a root or contains one. */
  holdsRoot({ absolute }: ScopePath): boolean {
    return this.roots.some((root) => isInside(absolute, root.path));
  }

  /** The error for a path that is, or resolves, outside. */
  outside(requested: string, how = 'is outside the project'): ToolError {
    const extra = this.roots.filter((root) => !root.isProject).map((root) => root.path);
    const places = [this.projectDir, ...extra].join(', ');
    return new ToolError('OUTSIDE_PROJECT', `${quote(requested)} ${how}. Use a path inside ${places}.`);
  }

  #findByGivenSpelling(absolute: string): ScopePath | undefined {
    for (const { spelling, root } of this.#given) {
      if (isInside(spelling, absolute)) return this.#place(root, join(root.path, relative(spelling, absolute)));
    }
    return undefined;
  }

  #place(root: ScopeRoot, absolute: string): ScopePath {
    // A root inside the project is shown relative to the project.
    const shown = isInside(this.#project.path, absolute)
      ? relative(this.#project.path, absolute).split(sep).join('/') || '.'
      : absolute.split(sep).join('/');
    return { root, absolute, shown };
  }
}

/** The paths from git configuration, below the root, that contain a path. */
function pathsOfRepositoriesAbove(root: string, components: readonly string[]): (readonly string[])[] {
  const found: (readonly string[])[] = [];
  let workTree = root;
  for (const name of components.slice(0, -1)) {
    workTree = join(workTree, name);
    const gitDir = gitDirOf(join(workTree, '.git'));
    if (gitDir !== undefined) found.push(configuredPaths(root, { workTree, gitDir }));
  }
  return found;
}

/** Whether a path is a directory or below it; `/p/proj-evil` is not in `/p/proj`, and `..foo` is a name. */
export function isInside(directory: string, path: string): boolean {
  const way = relative(directory, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function startsWith(names: readonly string[], first: readonly string[]): boolean {
  return first.length <= names.length && first.every((name, index) => name === names[index]);
}

function checkedText(path: unknown): string {
  if (typeof path !== 'string') throw wrong(`A path must be a string, not ${path === null ? 'null' : typeof path}.`);
  if (path === '') throw wrong('The path is empty; the project itself is ".".');
  if (path.includes('\0')) throw wrong('The path contains a NUL character, which no file name may.');
  if (/\p{Surrogate}/u.test(path)) throw wrong('The path contains half of a surrogate pair, which no file name may.');
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw wrong(`The path is longer than ${MAX_PATH_BYTES} bytes.`);
  if (/^file:\/\//i.test(path)) throw wrong(`${quote(path)} is a URL; use a plain path.`);
  if (sep === '/' && /^(?:[A-Za-z]:[\\/]|\\\\)/.test(path)) {
    throw wrong(`${quote(path)} is a Windows path; use a path relative to the project, with "/".`);
  }
  if (sep === '\\' && path.slice(parse(path).root.length).includes(':')) {
    throw wrong(`${quote(path)} is an alternate data stream; give the file itself.`);
  }
  return path;
}

function realDirectory(option: string, path: unknown): string {
  if (typeof path !== 'string' || !isAbsolute(path) || path.includes('\0')) {
    throw wrong(`${option} must be an absolute path, not ${JSON.stringify(path) ?? 'absent'}. Resolve it first.`);
  }
  let real: string;
  try {
    real = realpathSync.native(path);
    if (!statSync(real).isDirectory()) throw wrong(`${option} must be a directory; ${path} is not one.`);
  } catch (cause) {
    if (ToolError.isInstance(cause)) throw cause;
    throw wrong(
      `${option} must be an existing directory; ${path} cannot be opened (${String((cause as { code?: unknown }).code)}).`,
      cause,
    );
  }
  if (dirname(real) === real)
    throw wrong(`${option} must not be ${real}: every file would be inside. Give the directory of the project.`);
  if (isInside(real, realHome()))
    throw wrong(`${option} must not be ${real}, which contains the home directory. Give the directory of the project.`);
  return real;
}

function realHome(): string {
  const home = homedir();
  try {
    return realpathSync.native(home);
  } catch {
    return home; // a home directory that does not exist
  }
}

function canReadDescriptors(): boolean {
  if (process.platform !== 'linux') return false;
  try {
    return statSync('/proc/self/fd').isDirectory();
  } catch {
    return false; // no /proc: compare device and inode instead
  }
}

function wrong(message: string, cause?: unknown): ToolError {
  return new ToolError('INVALID_ARGUMENT', message, cause === undefined ? {} : { cause });
}

/** A path for a message: quoted, its control and bidirectional characters made visible, its length bounded. */
export function quote(path: string): string {
  const shown = path.length > 300 ? `${path.slice(0, 300)}...` : path;
  return `"${escapeControls(shown)}"`;
}

/** Escapes control, zero-width and bidirectional characters as `\u{...}`: file names are untrusted text. */
export function escapeControls(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
