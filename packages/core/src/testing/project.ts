// createTestProject(): a project directory for one test.

import { chmod, mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, sep } from 'node:path';
import { ToolError } from '../contract/errors.js';
import { assertOptions, type OptionNames } from '../contract/options.js';
import { spawnChild } from '../process/index.js';

/** A file: its content, with or without a mode; or a symbolic link. */
export type TestFile =
  | string
  | Uint8Array
  | {
      /** The content. */
      content: string | Uint8Array;
      /** The permission bits, such as `0o755`. Default: as the umask allows. */
      mode?: number;
    }
  | {
      /** The target of a symbolic link. */
      link: string;
    };

/** The directory of one test. Declare it with `await using`, which deletes it. */
export interface TestProject extends AsyncDisposable {
  /** The absolute path, without symbolic links. */
  readonly projectDir: string;
  /** Returns the absolute path of a name in the project. */
  resolve(name: string): string;
  /** Reads a file as UTF-8. */
  read(name: string): Promise<string>;
  /** Reads a file as bytes. */
  readBytes(name: string): Promise<Buffer>;
  /** Writes a file and creates its directories. @throws {ToolError} OUTSIDE_PROJECT for a name outside the project, which would not be deleted */
  write(name: string, file: TestFile): Promise<void>;
}

/** Options of {@link createTestProject}. */
export interface TestProjectOptions {
  /** Creates a git repository with all files in one commit. Default false. */
  git?: boolean;
}

const OPTIONS: OptionNames<TestProjectOptions> = { git: true };

const GIT_IDENTITY = [
  '-c',
  'user.name=Test',
  '-c',
  'user.email=test@example.com',
  '-c',
  'commit.gpgsign=false',
  '-c',
  'core.hooksPath=/dev/null',
];

/**
 * Creates a project directory in the system's temporary directory, accessible only to this user.
 *
 * @param files the content of each file, by its name relative to the project
 * @throws {ToolError} INVALID_ARGUMENT for an unknown option, OUTSIDE_PROJECT for a name outside the project
 *
 * @example
 * ```ts
 * await using project = await createTestProject({ 'src/a.ts': 'export {};\n' }, { git: true });
 * ```
 */
export async function createTestProject(
  files: Record<string, TestFile> = {},
  options: TestProjectOptions = {},
): Promise<TestProject> {
  assertOptions('createTestProject()', options, OPTIONS);
  const projectDir = await realpath(await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-project-`)));
  const project: TestProject = {
    projectDir,
    resolve: (name) => join(projectDir, name),
    read: (name) => readFile(join(projectDir, name), 'utf8'),
    readBytes: (name) => readFile(join(projectDir, name)),
    write: async (name, file) => writeTestFile(pathInside(projectDir, name), file),
    [Symbol.asyncDispose]: () => rm(projectDir, { recursive: true, force: true, maxRetries: 3 }),
  };
  try {
    for (const [name, file] of Object.entries(files)) await project.write(name, file);
    if (options.git) {
      await git(projectDir, 'init', '-q', '-b', 'main');
      await git(projectDir, 'add', '--all', '--force');
      await git(projectDir, ...GIT_IDENTITY, 'commit', '-q', '--allow-empty', '-m', 'Begin');
    }
  } catch (error) {
    await project[Symbol.asyncDispose]();
    throw error;
  }
  return project;
}

function pathInside(projectDir: string, name: string): string {
  const path = join(projectDir, name);
  if (path.startsWith(projectDir + sep)) return path;
  throw new ToolError(
    'OUTSIDE_PROJECT',
    `${JSON.stringify(name)} resolves outside the test project; pass a name inside it.`,
  );
}

async function writeTestFile(path: string, file: TestFile): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  if (typeof file === 'object' && 'link' in file) return symlink(file.link, path);
  const { content, mode } = typeof file === 'object' && 'content' in file ? file : { content: file, mode: undefined };
  await writeFile(path, content);
  if (mode !== undefined) await chmod(path, mode);
}

async function git(cwd: string, ...args: string[]): Promise<void> {
  const child = spawnChild({
    command: 'git',
    args,
    cwd,
    stdin: 'ignore',
    extraEnv: { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null' },
  });
  child.stdout.resume();
  const { code } = await child.exited;
  if (code !== 0)
    throw new ToolError('PROCESS_EXITED', `git ${args.join(' ')} exited with code ${code}: ${child.stderrTail()}`);
}
