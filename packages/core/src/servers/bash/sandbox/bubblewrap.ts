// The built-in sandbox: bubblewrap. A command sees only what is mounted here; mount-masks.ts decides what of the project it
// cannot write. https://github.com/containers/bubblewrap

import { lstatSync, readlinkSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, isAbsolute, join } from 'node:path';
import { realpath } from 'node:fs/promises';
import { ToolError } from '../../../contract/errors.js';
import { spawnChild } from '../../../process/index.js';
import { findGit } from '../../project/git/git-program.js';
import { isInside, type ProjectScope } from '../../project/scope/project-scope.js';
import { CommandGuard, reviewLeftCommands } from './command-guard.js';
import { maskProtectedPaths } from './mount-masks.js';
import type { Sandbox, SandboxCommand, SandboxRules } from './sandbox.js';

const CHECK_TIMEOUT_MS = 10_000;

/** Programs and their libraries. */
const SYSTEM_DIRECTORIES = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store', '/gnu/store'];

/** The parts of /etc that programs need. The rest holds secrets on many machines. */
const SYSTEM_FILES = [
  ...['ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'alternatives', 'passwd', 'group', 'nsswitch.conf', 'localtime'],
  ...['timezone', 'locale.alias', 'mime.types', 'magic', 'os-release', 'lsb-release', 'debian_version', 'shells'],
  ...['ssl/certs', 'ssl/openssl.cnf', 'pki/tls/certs', 'pki/ca-trust', 'ca-certificates', 'ca-certificates.conf'],
  ...['protocols', 'services', 'fonts', 'terminfo', 'java', 'perl', 'python3'],
].map((name) => `/etc/${name}`);

const NETWORK_FILES = ['/etc/resolv.conf', '/etc/hosts', '/etc/host.conf', '/etc/gai.conf'];

const INSTALL =
  'Install it: apt-get install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap or apk add bubblewrap.';

/** The system's directories first. */
function systemSearchPath(): string[] {
  return ['/usr/bin', '/bin', ...(process.env.PATH ?? '').split(delimiter)];
}

/**
 * Creates a sandbox with this machine's bubblewrap, from a directory outside the project.
 *
 * @param searchPath the directories to look in. Default: the system's, then those of the host's PATH
 * @throws {ToolError} UNAVAILABLE when it is not installed
 */
export async function createBubblewrap(scope: ProjectScope, searchPath = systemSearchPath()): Promise<Sandbox> {
  const program = await findBubblewrap(scope, searchPath);
  const wrapped = (run: SandboxCommand, rules: SandboxRules, projectMounts: readonly string[]): SandboxCommand => ({
    command: program,
    args: [
      ...namespaces(rules),
      ...systemMounts(rules),
      ...homeMounts(run.env.HOME),
      ...[...nodeInstallation(), ...rules.readable].flatMap((path) => ['--ro-bind-try', path, path]),
      ...projectMounts,
      ...['--remount-ro', '/', '--chdir', run.cwd, '--', run.command, ...run.args],
    ],
    cwd: '/',
    env: { ...run.env, HOME: homeOf(run.env.HOME), TMPDIR: '/tmp' },
  });
  return {
    name: 'bubblewrap',
    hasOwnProcesses: true,
    async check(rules, sample) {
      const run = { ...sample, cwd: rules.scope.projectDir };
      await checkWorks(wrapped(run, rules, rules.scope.roots.toReversed().flatMap(mountRoot)));
    },
    async wrap(run, rules) {
      const git = await findGit(rules.scope).catch(() => undefined); // then submodules are not masked
      const notices = await reviewLeftCommands(rules.scope, git);
      const masks = await maskProtectedPaths(rules.scope, git);
      const mounts = [...rules.scope.roots.toReversed().flatMap(mountRoot), ...masks.mounts];
      const guard = await CommandGuard.start(rules.scope, git, masks, notices).catch(async (error: unknown) => {
        await masks.release();
        throw error;
      });
      return { ...wrapped(run, rules, mounts), broken: guard.broken, release: () => guard.stop() };
    },
  };
}

/** New namespaces, except for an allowed network; ends with the host; no controlling terminal; no privileges. */
function namespaces({ network }: SandboxRules): string[] {
  return [
    ...['--unshare-all', ...(network ? ['--share-net'] : [])],
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
  ];
}

function systemMounts({ network }: SandboxRules): string[] {
  const files = network ? [...SYSTEM_FILES, ...NETWORK_FILES] : SYSTEM_FILES;
  return [
    ...SYSTEM_DIRECTORIES.flatMap(mountSystemDirectory),
    ...files.flatMap((path) => ['--ro-bind-try', path, path]),
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--tmpfs', '/var/tmp', '--dir', '/run'],
  ];
}

function mountSystemDirectory(path: string): string[] {
  try {
    return lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
  } catch {
    return []; // missing on this system
  }
}

/** The running Node installation, when it is outside the system's directories, as a version manager's is. */
function nodeInstallation(): string[] {
  const bin = dirname(process.execPath);
  const prefix = dirname(bin);
  const isSeparate = basename(bin) === 'bin' && !isInside(prefix, homedir()) && dirname(prefix) !== prefix;
  if (!isSeparate || SYSTEM_DIRECTORIES.some((directory) => isInside(directory, prefix))) return [];
  try {
    return statSync(join(prefix, 'include', 'node')).isDirectory() ? [prefix] : [];
  } catch {
    return []; // not the layout of a Node installation
  }
}

/** An empty home directory in memory, for programs that write there. */
function homeMounts(home: string | undefined): string[] {
  const place = homeOf(home);
  return isInside('/tmp', place) ? ['--dir', place] : ['--tmpfs', place];
}

function homeOf(home: string | undefined): string {
  const taken = ['/proc', '/dev', '/etc', '/run', '/var/tmp', ...SYSTEM_DIRECTORIES];
  const isUsable =
    home !== undefined &&
    isAbsolute(home) &&
    dirname(home) !== home &&
    !taken.some((directory) => isInside(directory, home) || isInside(home, directory));
  return isUsable ? home : '/tmp/home';
}

function mountRoot({ path, mode }: ProjectScope['roots'][number]): string[] {
  return [mode === 'rw' ? '--bind' : '--ro-bind', path, path];
}

async function checkWorks(run: SandboxCommand): Promise<void> {
  await using child = spawnChild(run);
  child.stdout.resume();
  const timer = setTimeout(() => void child.end({ graceMs: 0 }), CHECK_TIMEOUT_MS);
  const { code } = await child.exited.finally(() => clearTimeout(timer));
  if (code === 0) return;
  const message = child.stderrTail().trim().split('\n', 1)[0] ?? '';
  throw new ToolError(
    'UNAVAILABLE',
    `bubblewrap does not work on this machine${message === '' ? '' : ` (${message})`}. It needs user namespaces, which some systems and most containers disable: see docs/bash.md.`,
    { retryable: false },
  );
}

async function findBubblewrap(scope: ProjectScope, searchPath: readonly string[]): Promise<string> {
  if (process.platform !== 'linux') {
    throw new ToolError(
      'UNAVAILABLE',
      `bubblewrap is for Linux, not for ${process.platform}. Set the option sandboxWith to another sandbox, or run in a container.`,
      { retryable: false },
    );
  }
  for (const directory of searchPath) {
    if (!isAbsolute(directory)) continue; // the current directory may be the project
    const program = await realpath(join(directory, 'bwrap')).catch(() => undefined); // not there
    if (program !== undefined && !scope.find(program) && !scope.find(directory)) return program;
  }
  throw new ToolError('UNAVAILABLE', `bubblewrap is not installed. ${INSTALL}`, { retryable: false });
}
