// Traces that a sandboxed command can leave in the data of a repository, which it may write, to make the user's next git
// write elsewhere or run a program: links, FIFOs, steps of a rebase, working trees with another configuration, and
// replacements that change the history that git sees. New traces are undone after the command.
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
import { isPlaceholder } from './placeholders.js';

/** A command can create files faster than they are scanned; then the scan is reported as incomplete. */
const SCAN_MS = 5_000;
const MAX_BYTES = 64 * 1024;
/** Directories that are read concurrently. */
const CONCURRENCY = 16;
/** Objects are named by the hash of their content, which git checks, so a link among them does no harm. */
const OBJECT_DIRECTORY = /\/objects\/[0-9a-f]{2}$/;
/** Where git reads addresses of remotes, besides its configuration. https://git-scm.com/docs/gitrepository-layout */
const REMOTES = ['remotes', 'branches'];
const REPLACED = 'refs/replace/';
/** The target of a HEAD that is a link, as git creates it with `core.preferSymlinkRefs`. */
const BRANCH = /^refs\/(?:[^/.][^/]*\/)*[^/.][^/]*$/;
/** Emacs locks a file with a dangling link next to it: `user@host.pid:boot`. */
const EMACS_LOCK = /^[^/]+@[^/]+\.\d+(?::\d+)?$/;
/** How long to wait for a git that holds a lock. */
const LOCK_MS = 1_000;

/** The configuration of a linked working tree is two directories above its data. */
const COMMON_OF_WORKTREE = '../..';

/** A trace. Names are Latin-1, as they may contain any bytes. */
export interface GitTrace {
  kind: 'link' | 'device' | 'steps' | 'common' | 'config' | 'grafts' | 'replaced' | 'resolutions' | 'remote';
  directory: string;
  name: string;
  /** The target of a link, a step, the text of a file, or the replaced object and its replacement. */
  detail: string;
}

/** The traces in the data of repositories. */
export interface GitTraces {
  traces: GitTrace[];
  /** False when there were too many files to scan. */
  isComplete: boolean;
}

/** Scans the data of repositories, given by their `.git`, where a command could write. */
export async function gitTracesOf(scope: ProjectScope, dotGits: Iterable<string>): Promise<GitTraces> {
  const tops = new Set<string>();
  for (const dotGit of dotGits) {
    const gitDir = gitDirOf(dotGit);
    for (const directory of gitDir === undefined ? [] : [gitDir, commonDirOf(gitDir)]) {
      const real = await realpath(directory).catch(() => undefined); // missing
      if (real !== undefined && scope.find(real)?.root.mode === 'rw') tops.add(Buffer.from(real).toString('latin1'));
    }
  }
  const traces: GitTrace[] = [];
  const dueAt = performance.now() + SCAN_MS;
  const seen = new Set(tops);
  // Level by level, so that many files below cannot hide those at the top.
  for (let level = [...tops]; level.length > 0;) {
    const next: string[][] = [];
    for (let from = 0; from < level.length; from += CONCURRENCY) {
      if (performance.now() > dueAt) return { traces, isComplete: false };
      const scanned = await Promise.all(
        level.slice(from, from + CONCURRENCY).map((each) => scanDirectory(each, traces)),
      );
      for (const directories of scanned) next.push(directories);
    }
    level = next.flat().filter((directory) => !seen.has(directory));
    for (const directory of level) seen.add(directory);
  }
  return { traces, isComplete: true };
}

/** Identifies a trace. */
export function traceKey({ kind, directory, name, detail }: GitTrace): string {
  if (kind === 'replaced') return [kind, directory.replace(/\/refs\/replace$/, ''), detail].join('\0'); // it may have been packed since
  return [kind, directory, name, detail].join('\0');
}

/** Adds the traces in one directory, and returns its subdirectories. */
async function scanDirectory(directory: string, traces: GitTrace[]): Promise<string[]> {
  const entries = await entriesOf(directory);
  const names = new Set(entries.map(({ name }) => name.toString('latin1')));
  const isGitDir = names.has('HEAD') && (names.has('objects') || names.has('commondir'));
  const subdirectories: string[] = [];
  for (const entry of entries) {
    const name = entry.name.toString('latin1');
    const path = `${directory}/${name}`;
    if (entry.isSymbolicLink()) {
      const target = await readlink(bytes(path), 'latin1').catch(() => ''); // deleted meanwhile
      const isHarmless = name === 'HEAD' ? BRANCH.test(target) : name.startsWith('.#') && EMACS_LOCK.test(target);
      if (!isHarmless) traces.push({ kind: 'link', directory, name, detail: target });
    } else if (entry.isDirectory()) {
      if (!OBJECT_DIRECTORY.test(path)) subdirectories.push(path);
      if (!isGitDir || !UNFINISHED_DIRECTORIES.includes(name)) continue;
      for (const detail of await unusualSteps(text(path), 'any'))
        traces.push({ kind: 'steps', directory, name, detail });
    } else if (!entry.isFile() && !entry.isSocket()) traces.push({ kind: 'device', directory, name, detail: '' });
  }
  if (isGitDir) await scanGitDir(directory, names, traces);
  if (isGitDir && basename(dirname(directory)) === 'worktrees') await scanWorktree(directory, names, traces);
  return subdirectories;
}

/** Files that git reads by name in the directory of a repository's data. */
async function scanGitDir(directory: string, names: ReadonlySet<string>, traces: GitTrace[]): Promise<void> {
  const addFiles = async (kind: GitTrace['kind'], folder: string, only?: string): Promise<void> => {
    for (const entry of await entriesOf(`${directory}/${folder}`)) {
      const name = entry.name.toString('latin1');
      if (!entry.isFile() || (only !== undefined && name !== only)) continue;
      const place = `${directory}/${folder}`;
      const content = await readSmallText(`${place}/${name}`);
      traces.push({
        kind,
        directory: place,
        name,
        detail: kind === 'replaced' ? `${name} ${content.trim()}` : content,
      });
    }
  };
  if (names.has('refs')) await addFiles('replaced', 'refs/replace');
  if (names.has('info')) await addFiles('grafts', 'info', 'grafts');
  for (const folder of REMOTES) if (names.has(folder)) await addFiles('remote', folder);
  if (names.has('MERGE_RR'))
    traces.push({
      kind: 'resolutions',
      directory,
      name: 'MERGE_RR',
      detail: await readSmallText(`${directory}/MERGE_RR`),
    });
  if (names.has('packed-refs'))
    for (const detail of await packedReplacements(`${directory}/packed-refs`))
      traces.push({ kind: 'replaced', directory, name: 'packed-refs', detail });
}

async function scanWorktree(directory: string, names: ReadonlySet<string>, traces: GitTrace[]): Promise<void> {
  for (const name of ['commondir', 'config.worktree']) {
    const path = `${directory}/${name}`;
    if (!names.has(name) || (await isPlaceholder(text(path)))) continue;
    const detail = await readSmallText(path);
    const kind = name === 'commondir' ? 'common' : 'config';
    // git itself copies config.worktree from the main working tree.
    const isHarmless =
      kind === 'common'
        ? detail.trimEnd() === COMMON_OF_WORKTREE
        : harmfulLine(detail) === undefined ||
          detail === (await readSmallText(`${directory}/${COMMON_OF_WORKTREE}/${name}`));
    if (!isHarmless) traces.push({ kind, directory, name, detail });
  }
}

/** Why an entry is disabled. */
const REASONS: Record<Exclude<GitTrace['kind'], 'link' | 'device' | 'replaced'>, (detail: string) => string> = {
  steps: (detail) => `contains ${quote(detail.slice(0, 200))}, which continuing it would run`,
  common: () => 'takes its configuration from elsewhere',
  config: () => 'takes its configuration from elsewhere',
  grafts: () => 'changes the history that git sees',
  resolutions: () => 'lists files that the next git commit would copy into .git, wherever they are',
  remote: () => 'contains an address to which the next git push could send the project',
};

/**
 * Undoes a trace. Returns what was done, as a clause; undefined when the trace no longer exists.
 *
 * @param until an entry created after this time, in milliseconds since 1970, is not the command's
 */
export async function undoTrace(scope: ProjectScope, trace: GitTrace, until = Infinity): Promise<string | undefined> {
  const { kind, directory, detail } = trace;
  const shown = quote(shownPath(scope, `${directory}/${trace.name}`));
  try {
    // Held open, so that a link cannot be swapped in for the directory.
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
        ? `${shown} became a link to ${quote(text(detail))}, through which the next git could write: it was removed`
        : `${shown} became a device or FIFO, on which the next git could hang: it was removed`;
    }
    if (kind === 'replaced') {
      const [object = ''] = detail.split(' ');
      if (trace.name === 'packed-refs') await removeReplacement(address, object);
      else await unlink(place);
      return `${shown} replaced the object ${quote(object)} for git: the replacement was removed`;
    }
    const disabled = await disableEntry(address, trace.name);
    if (kind === 'common') await writeFile(place, `${COMMON_OF_WORKTREE}\n`, { flag: 'wx' });
    return `${shown} ${REASONS[kind](detail)}: it was renamed to ${quote(disabled)}. Check it, and rename it back if you want it`;
  } catch {
    return undefined; // deleted meanwhile, or not writable
  }
}

const knownReplacements = new Map<string, { version: string; names: readonly string[] }>();

/** The replaced objects in a file of packed references, each with its replacement. Read again only when it has changed, as it may be large. */
async function packedReplacements(file: string): Promise<readonly string[]> {
  const stats = await stat(bytes(file), { bigint: true }).catch(() => undefined); // deleted meanwhile
  if (!stats?.isFile()) return [];
  const version = [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
  const known = knownReplacements.get(file);
  if (known?.version === version) return known.names;
  const packed = await readFile(bytes(file), 'latin1').catch(() => '');
  const names = [...packed.matchAll(/^([0-9a-f]+) refs\/replace\/([^\n]+)$/gm)].map(([, by, name]) => `${name} ${by}`);
  knownReplacements.set(file, { version, names });
  return names;
}

/** Changes packed references as git does: under its lock, atomically. */
async function removeReplacement(address: string, name: string): Promise<void> {
  const lock = `${address}/packed-refs.lock`;
  const dueAt = performance.now() + LOCK_MS;
  // A lock that remains is the command's.
  while ((await lstat(lock).catch(() => undefined)) && performance.now() < dueAt) await setTimeout(20);
  const packed = await readFile(`${address}/packed-refs`, 'latin1');
  const lines = packed.split('\n').filter((line) => !line.endsWith(` ${REPLACED}${name}`));
  await replaceFile(address, 'packed-refs', lines.join('\n'), 0o644);
}

/** Renames an entry of a directory to `NAME.disabled` or the next free name, and returns that. */
export async function disableEntry(address: string, name: string): Promise<string> {
  for (let number = 1; ; number++) {
    const disabled = `${name}.disabled${number === 1 ? '' : `-${number}`}`;
    const isTaken = await lstat(bytes(`${address}/${disabled}`)).then(
      () => true,
      () => false,
    );
    if (isTaken) continue;
    await rename(bytes(`${address}/${name}`), bytes(`${address}/${disabled}`));
    return text(disabled);
  }
}

/** Replaces a file atomically by a new one, which has no second name. */
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

async function readSmallText(path: string): Promise<string> {
  const stats = await lstat(bytes(path)).catch(() => undefined); // deleted meanwhile
  if (!stats?.isFile() || stats.size > MAX_BYTES) return stats ? 'not a small file' : '';
  return readFile(bytes(path), 'latin1').catch(() => '');
}

async function entriesOf(directory: string): Promise<Dirent<Buffer>[]> {
  try {
    return await readdir(bytes(directory), { withFileTypes: true, encoding: 'buffer' });
  } catch {
    return []; // deleted meanwhile, or not readable
  }
}
