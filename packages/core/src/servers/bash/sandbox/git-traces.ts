// What a sandboxed command can leave in the data of a repository, where it may write, to make the user's next git write
// elsewhere or run something: links, FIFOs, steps of a rebase, working trees that take their configuration from elsewhere,
// and what shows git another history than there is. What was not there before the command is undone.
// https://git-scm.com/docs/gitrepository-layout

import { randomBytes } from 'node:crypto';
import { constants, type Dirent } from 'node:fs';
import { lstat, open, readdir, readFile, readlink, realpath, rename, stat, unlink, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { commonDirOf, gitDirOf } from '../../project/scope/configured-paths.js';
import { quote, type ProjectScope } from '../../project/scope/project-scope.js';
import { UNFINISHED_DIRECTORIES, unusualSteps } from '../../project/git/unfinished-work.js';
import { harmfulLine } from './harmless-config.js';
import { isOwnPlaceholder } from './placeholders.js';

/** A command can make files faster than they are looked at: then the rest is said not to have been. */
const LOOK_MS = 5_000;
const MAX_BYTES = 64 * 1024;
/** Directories that are read at the same time. */
const AT_ONCE = 16;
/** Objects are named by their content, in directories of two digits; what a link there gives is checked by git. */
const OBJECT_DIRECTORY = /\/objects\/[0-9a-f]{2}$/;
/** Where git reads the addresses of remotes beside its configuration. https://git-scm.com/docs/gitrepository-layout */
const REMOTES = ['remotes', 'branches'];
const REPLACED = 'refs/replace/';
/** A head that is a link to its branch, as git makes it with `core.preferSymlinkRefs`. */
const BRANCH = /^refs\/(?:[^/.][^/]*\/)*[^/.][^/]*$/;
/** Emacs locks a file by a link beside it that leads nowhere: `user@host.pid:boot`. */
const EMACS_LOCK = /^[^/]+@[^/]+\.\d+(?::\d+)?$/;
/** For another git that holds a lock. */
const LOCK_MS = 1_000;

/** Where the data of a linked working tree is, its configuration is two directories above. */
const COMMON_OF_WORKTREE = '../..';

/** One of those things. Names are Latin-1 of what may be any bytes. */
export interface GitTrace {
  kind: 'link' | 'device' | 'steps' | 'common' | 'config' | 'grafts' | 'replaced' | 'resolutions' | 'remote';
  directory: string;
  name: string;
  /** Where the link leads; the step; what the file says; which object is replaced, and by which. */
  what: string;
}

/** What is found in the data of repositories. */
export interface GitTraces {
  traces: GitTrace[];
  /** False when there was too much to look at. */
  isComplete: boolean;
}

/** Looks through the data of repositories, each given by its `.git`, as far as a command could write it. */
export async function gitTracesOf(scope: ProjectScope, dotGits: Iterable<string>): Promise<GitTraces> {
  const tops = new Set<string>();
  for (const dotGit of dotGits) {
    const gitDir = gitDirOf(dotGit);
    for (const directory of gitDir === undefined ? [] : [gitDir, commonDirOf(gitDir)]) {
      const real = await realpath(directory).catch(() => undefined); // leads nowhere
      if (real !== undefined && scope.find(real)?.root.mode === 'rw') tops.add(Buffer.from(real).toString('latin1'));
    }
  }
  const traces: GitTrace[] = [];
  const dueAt = performance.now() + LOOK_MS;
  const seen = new Set(tops);
  // The top comes first: what is there is looked at, however much is below.
  for (let level = [...tops]; level.length > 0;) {
    const next: string[][] = [];
    for (let from = 0; from < level.length; from += AT_ONCE) {
      if (performance.now() > dueAt) return { traces, isComplete: false };
      const looked = await Promise.all(level.slice(from, from + AT_ONCE).map((each) => lookIn(each, traces)));
      for (const directories of looked) next.push(directories);
    }
    level = next.flat().filter((directory) => !seen.has(directory));
    for (const directory of level) seen.add(directory);
  }
  return { traces, isComplete: true };
}

/** What tells one from another, wherever it is found. */
export function traceKey({ kind, directory, name, what }: GitTrace): string {
  if (kind === 'replaced') return [kind, directory.replace(/\/refs\/replace$/, ''), what].join('\0'); // it may be packed since
  return [kind, directory, name, what].join('\0');
}

/** Adds what is in one directory, and gives the directories in it. */
async function lookIn(directory: string, traces: GitTrace[]): Promise<string[]> {
  const entries = await entriesOf(directory);
  const names = new Set(entries.map(({ name }) => name.toString('latin1')));
  const isGitDir = names.has('HEAD') && (names.has('objects') || names.has('commondir'));
  const further: string[] = [];
  for (const entry of entries) {
    const name = entry.name.toString('latin1');
    const path = `${directory}/${name}`;
    if (entry.isSymbolicLink()) {
      const target = await readlink(bytes(path), 'latin1').catch(() => ''); // gone meanwhile
      const isUsual = name === 'HEAD' ? BRANCH.test(target) : name.startsWith('.#') && EMACS_LOCK.test(target);
      if (!isUsual) traces.push({ kind: 'link', directory, name, what: target });
    } else if (entry.isDirectory()) {
      if (!OBJECT_DIRECTORY.test(path)) further.push(path);
      if (!isGitDir || !UNFINISHED_DIRECTORIES.includes(name)) continue;
      for (const what of await unusualSteps(text(path), 'any')) traces.push({ kind: 'steps', directory, name, what });
    } else if (!entry.isFile() && !entry.isSocket()) traces.push({ kind: 'device', directory, name, what: '' });
  }
  if (isGitDir) await lookInGitDir(directory, names, traces);
  if (isGitDir && basename(dirname(directory)) === 'worktrees') await lookInWorktree(directory, names, traces);
  return further;
}

/** What git reads by its name in the directory of a repository's data. */
async function lookInGitDir(directory: string, names: ReadonlySet<string>, traces: GitTrace[]): Promise<void> {
  const add = async (kind: GitTrace['kind'], folder: string, only?: string): Promise<void> => {
    for (const entry of await entriesOf(`${directory}/${folder}`)) {
      const name = entry.name.toString('latin1');
      if (!entry.isFile() || (only !== undefined && name !== only)) continue;
      const place = `${directory}/${folder}`;
      const says = await smallText(`${place}/${name}`);
      traces.push({ kind, directory: place, name, what: kind === 'replaced' ? `${name} ${says.trim()}` : says });
    }
  };
  if (names.has('refs')) await add('replaced', 'refs/replace');
  if (names.has('info')) await add('grafts', 'info', 'grafts');
  for (const folder of REMOTES) if (names.has(folder)) await add('remote', folder);
  if (names.has('MERGE_RR'))
    traces.push({ kind: 'resolutions', directory, name: 'MERGE_RR', what: await smallText(`${directory}/MERGE_RR`) });
  if (names.has('packed-refs'))
    for (const what of await packedReplacements(`${directory}/packed-refs`))
      traces.push({ kind: 'replaced', directory, name: 'packed-refs', what });
}

async function lookInWorktree(directory: string, names: ReadonlySet<string>, traces: GitTrace[]): Promise<void> {
  for (const name of ['commondir', 'config.worktree']) {
    const path = `${directory}/${name}`;
    if (!names.has(name) || (await isOwnPlaceholder(text(path)))) continue;
    const what = await smallText(path);
    const kind = name === 'commondir' ? 'common' : 'config';
    // git copies the one of the main working tree.
    const isUsual =
      kind === 'common'
        ? what.trimEnd() === COMMON_OF_WORKTREE
        : harmfulLine(what) === undefined || what === (await smallText(`${directory}/${COMMON_OF_WORKTREE}/${name}`));
    if (!isUsual) traces.push({ kind, directory, name, what });
  }
}

/** What is wrong with what is set aside. */
const REASONS: Record<Exclude<GitTrace['kind'], 'link' | 'device' | 'replaced'>, (what: string) => string> = {
  steps: (what) => `says ${quote(what.slice(0, 200))}, which going on with it would run`,
  common: () => 'was given a configuration from elsewhere',
  config: () => 'was given a configuration from elsewhere',
  grafts: () => 'made git see another history than there is',
  resolutions: () => 'names files that the next git commit would copy into .git, wherever they are',
  remote: () => 'names an address to which the next git push could send the project',
};

/**
 * Undoes one. What was done, as a clause; undefined when it is not there any more.
 *
 * @param until what came into being after this time, in milliseconds since 1970, is not the command's
 */
export async function undoTrace(scope: ProjectScope, trace: GitTrace, until = Infinity): Promise<string | undefined> {
  const { kind, directory, what } = trace;
  const shown = quote(shownPath(scope, `${directory}/${trace.name}`));
  try {
    // Held open: a link that is swapped in for a directory leads nowhere else.
    await using handle = await open(bytes(directory), constants.O_RDONLY | constants.O_DIRECTORY);
    const address = `/proc/self/fd/${handle.fd}`;
    if ((await readlink(address, 'latin1')) !== directory) return undefined;
    const place = bytes(`${address}/${trace.name}`);
    const stats = await lstat(place);
    if (stats.birthtimeMs > until && trace.name !== 'packed-refs') return undefined;
    if (kind === 'link' || kind === 'device') {
      if (stats.isFile() || stats.isDirectory()) return undefined;
      await unlink(place);
      return kind === 'link'
        ? `${shown} was made a link to ${quote(text(what))}, where the next git could write: it was removed`
        : `${shown} was made a device or FIFO, at which the next git could hang: it was removed`;
    }
    if (kind === 'replaced') {
      const [object = ''] = what.split(' ');
      if (trace.name === 'packed-refs') await removeReplacement(address, object);
      else await unlink(place);
      return `${shown} made git see another object in place of ${quote(object)}: the replacement was removed`;
    }
    const aside = await setAside(address, trace.name);
    if (kind === 'common') await writeFile(place, `${COMMON_OF_WORKTREE}\n`, { flag: 'wx' });
    return `${shown} ${REASONS[kind](what)}: it was renamed to ${quote(aside)}. Look at it, and rename it back if it is meant to be there`;
  } catch {
    return undefined; // not there any more, or not ours to change
  }
}

const knownReplacements = new Map<string, { version: string; names: readonly string[] }>();

/** The objects that references in one file replace, each with the one in its place. It may be large, so it is read again only when it has changed. */
async function packedReplacements(file: string): Promise<readonly string[]> {
  const stats = await stat(bytes(file), { bigint: true }).catch(() => undefined); // gone meanwhile
  if (!stats?.isFile()) return [];
  const version = [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
  const known = knownReplacements.get(file);
  if (known?.version === version) return known.names;
  const packed = await readFile(bytes(file), 'latin1').catch(() => '');
  const names = [...packed.matchAll(/^([0-9a-f]+) refs\/replace\/([^\n]+)$/gm)].map(([, by, name]) => `${name} ${by}`);
  knownReplacements.set(file, { version, names });
  return names;
}

/** As git changes packed references: under its lock, in one step. */
async function removeReplacement(address: string, name: string): Promise<void> {
  const lock = `${address}/packed-refs.lock`;
  const dueAt = performance.now() + LOCK_MS;
  // A lock that stays is the command's own.
  while ((await lstat(lock).catch(() => undefined)) && performance.now() < dueAt) await setTimeout(20);
  const packed = await readFile(`${address}/packed-refs`, 'latin1');
  const lines = packed.split('\n').filter((line) => !line.endsWith(` ${REPLACED}${name}`));
  await replaceFile(address, 'packed-refs', lines.join('\n'), 0o644);
}

/** Renames an entry of a directory to a free name. The name. */
export async function setAside(address: string, name: string): Promise<string> {
  for (let number = 1; ; number++) {
    const aside = `${name}.disabled${number === 1 ? '' : `-${number}`}`;
    const isTaken = await lstat(bytes(`${address}/${aside}`)).then(
      () => true,
      () => false,
    );
    if (isTaken) continue;
    await rename(bytes(`${address}/${name}`), bytes(`${address}/${aside}`));
    return text(aside);
  }
}

/** Puts a text in the place of a file, in one step, as a file without another name. */
export async function replaceFile(address: string, name: string, content: string, mode: number): Promise<void> {
  const temporary = bytes(`${address}/${name}.${randomBytes(6).toString('hex')}.tmp`);
  await writeFile(temporary, content, { flag: 'wx', mode, encoding: 'latin1' });
  await rename(temporary, bytes(`${address}/${name}`)).catch(async (error: unknown) => {
    await unlink(temporary);
    throw error;
  });
}

function shownPath(scope: ProjectScope, latin1: string): string {
  const path = text(latin1);
  return scope.find(path)?.shown ?? path;
}

function bytes(latin1: string): Buffer {
  return Buffer.from(latin1, 'latin1');
}

function text(latin1: string): string {
  return bytes(latin1).toString('utf8');
}

async function smallText(path: string): Promise<string> {
  const stats = await lstat(bytes(path)).catch(() => undefined); // gone meanwhile
  if (!stats?.isFile() || stats.size > MAX_BYTES) return stats ? 'no small file' : '';
  return readFile(bytes(path), 'latin1').catch(() => '');
}

async function entriesOf(directory: string): Promise<Dirent<Buffer>[]> {
  try {
    return await readdir(bytes(directory), { withFileTypes: true, encoding: 'buffer' });
  } catch {
    return []; // gone meanwhile, or not ours to read
  }
}
