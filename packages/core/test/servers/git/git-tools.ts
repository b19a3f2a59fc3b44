// What the tests of the git tools share: a repository in a world of its own, plain git in it, and the server's answers.

import { InProcessToolProvider } from '../../../src/provider/in-process-provider.js';
import type { ToolErrorCode } from '../../../src/contract/errors.js';
import type { JsonObject } from '../../../src/contract/json.js';
import { allowedEnvironment, spawnChild } from '../../../src/process/index.js';
import { textOf } from '../../../src/contract/result.js';
import { createGitServer, type GitServerOptions } from '../../../src/servers/git/index.js';
import { ProjectFiles } from '../../../src/servers/project/project-files.js';
import { type FileChange } from '../../../src/servers/project/write/change-together.js';
import { createTestProject, type TestFile, type TestProject } from '../../../src/testing/project.js';
import type { CallOptions } from '../../../src/contract/tool-provider.js';

export interface Answer {
  code: ToolErrorCode | undefined;
  text: string;
  /** Typed loosely, as tests look into it. */
  data: any; // eslint-disable-line @typescript-eslint/no-explicit-any
}

/** A project `proj` that is a repository, the tools of its server, and plain git beside them. */
export interface Tools extends AsyncDisposable {
  world: TestProject;
  projectDir: string;
  provider: InProcessToolProvider;
  files: ProjectFiles;
  /** What listeners of the project's files were told. */
  changes: FileChange[];
  path(name: string): string;
  read(name: string): Promise<string>;
  write(name: string, file: TestFile): Promise<void>;
  /** Plain git in the project; its output without the last newline. */
  git(...args: string[]): Promise<string>;
  /** Writes files and commits everything. */
  commit(message: string, files?: Record<string, TestFile>): Promise<string>;
  call(tool: string, args?: JsonObject, options?: CallOptions): Promise<Answer>;
}

export interface OpenOptions extends Partial<GitServerOptions> {
  /** Default true: made a repository. */
  init?: boolean;
}

const ALL_GROUPS = ['merge', 'rewrite', 'tag', 'network'] as const;
const missing = await gitIn('/', {}, ['--version']).then(
  () => undefined,
  (error: unknown) => `git does not run here: ${String(error)}`,
);
if (missing !== undefined) console.warn(`The tests of the git server are skipped. ${missing}`);

/** True without git, which the tests need; the reason is printed. */
export const GIT_IS_MISSING = missing !== undefined;

/** A repository with the files in one commit; none with no files. */
export async function openTools(
  files: Record<string, TestFile> = {},
  { init = true, ...options }: OpenOptions = {},
): Promise<Tools> {
  const world = await createTestProject({ 'outside/secret.txt': 'secret\n', 'home/.keep': '', 'proj/.keep-me': '' });
  const projectDir = world.resolve('proj');
  const projectFiles = new ProjectFiles({ fsync: false, projectDir });
  const changes: FileChange[] = [];
  projectFiles.onChanged((change) => changes.push(change));
  const server = createGitServer({ groups: ALL_GROUPS, protocols: ['file'], ...options, projectDir, projectFiles });
  const provider = new InProcessToolProvider({ servers: [server] });
  const tools: Tools = {
    world,
    projectDir,
    provider,
    files: projectFiles,
    changes,
    path: (name) => world.resolve(`proj/${name}`),
    read: (name) => world.read(`proj/${name}`),
    write: (name, file) => world.write(`proj/${name}`, file),
    git: (...args) => gitIn(projectDir, { HOME: world.resolve('home') }, args),
    async commit(message, more = {}) {
      for (const [name, file] of Object.entries(more)) await tools.write(name, file);
      await tools.git('add', '--all');
      await tools.git('commit', '--quiet', '--allow-empty', '--no-verify', '-m', message);
      return tools.git('rev-parse', 'HEAD');
    },
    async call(tool, args = {}, callOptions) {
      const result = await provider.callTool(`git.${tool}`, args, callOptions);
      return { code: result.error?.code, text: textOf(result), data: result.structuredContent ?? {} };
    },
    async [Symbol.asyncDispose]() {
      await provider.disconnect();
      await world[Symbol.asyncDispose]();
    },
  };
  if (init) {
    await initRepository(tools);
    if (Object.keys(files).length > 0) await tools.commit('Begin', files);
  } else for (const [name, file] of Object.entries(files)) await tools.write(name, file);
  return tools;
}

async function initRepository({ git, path }: Tools): Promise<void> {
  await gitIn(path('.'), {}, ['init', '--quiet', '-b', 'main']);
  await git('config', 'user.name', 'Test');
  await git('config', 'user.email', 'test@example.com');
  await (await import('node:fs/promises')).rm(path('.keep-me'));
}

/** Plain git, as a user would run it: only the user's own configuration is left out. */
export async function gitIn(cwd: string, env: Record<string, string>, args: readonly string[]): Promise<string> {
  await using child = spawnChild({
    command: 'git',
    args,
    cwd,
    env: {
      ...allowedEnvironment(),
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_AUTHOR_DATE: '2026-01-02T03:04:05Z',
      GIT_EDITOR: ':',
      ...env,
    },
  });
  const chunks: Buffer[] = [];
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) chunks.push(chunk);
  const { code } = await child.exited;
  if (code !== 0) throw new Error(`git ${args.join(' ')} ended with ${code}: ${child.stderrTail()}`);
  return Buffer.concat(chunks).toString('utf8').replace(/\n$/, '');
}
