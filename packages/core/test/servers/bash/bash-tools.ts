// Shared by the tests of the bash tools: a project, a provider with its bash server, and readable answers.

import { readFileSync } from 'node:fs';
import type { ToolErrorCode } from '../../../src/contract/errors.js';
import { InProcessToolProvider } from '../../../src/provider/in-process-provider.js';
import type { JsonObject } from '../../../src/contract/json.js';
import { textOf } from '../../../src/contract/result.js';
import { createBashServer, type BashServerOptions } from '../../../src/servers/bash/index.js';
import { createTestProject, type TestFile, type TestProject } from '../../../src/testing/project.js';
import type { CallOptions } from '../../../src/contract/tool-provider.js';

export interface Answer {
  code: ToolErrorCode | undefined;
  isError: boolean;
  text: string;
  data: JsonObject;
}

/** A project `proj` in a temporary directory, and the tools of its server. The default is no sandbox. */
export interface Tools extends AsyncDisposable {
  world: TestProject;
  projectDir: string;
  provider: InProcessToolProvider;
  path(name: string): string;
  read(name: string): Promise<string>;
  call(tool: string, args?: JsonObject, options?: CallOptions): Promise<Answer>;
  execute(command: string, args?: JsonObject, options?: CallOptions): Promise<Answer>;
}

export async function openTools(
  files: Record<string, TestFile> = {},
  options: Partial<BashServerOptions> = {},
): Promise<Tools> {
  const world = await createTestProject({ 'outside/secret.txt': 'secret\n', 'proj/.keep': '' });
  const projectDir = world.resolve('proj');
  for (const [name, file] of Object.entries(files)) await world.write(`proj/${name}`, file);
  const provider = new InProcessToolProvider({
    servers: [createBashServer({ projectDir, sandbox: 'off', ...options })],
  });
  const call = async (tool: string, args: JsonObject = {}, callOptions?: CallOptions): Promise<Answer> => {
    const result = await provider.callTool(`bash.${tool}`, args, callOptions);
    return {
      code: result.error?.code,
      isError: result.isError,
      text: textOf(result),
      data: result.structuredContent ?? {},
    };
  };
  return {
    world,
    projectDir,
    provider,
    path: (name) => world.resolve(`proj/${name}`),
    read: (name) => world.read(`proj/${name}`),
    call,
    execute: (command, args, callOptions) => call('execute', { command, ...args }, callOptions),
    async [Symbol.asyncDispose]() {
      await provider.disconnect();
      await world[Symbol.asyncDispose]();
    },
  };
}

/** A zombie counts as ended: this machine's init may be slow to reap. */
export function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return false;
  }
}

/** Resolves when the condition holds; rejects after five seconds. */
export async function until(what: () => boolean | Promise<boolean>): Promise<void> {
  const dueAt = performance.now() + 5_000;
  while (!(await what())) {
    if (performance.now() > dueAt) throw new Error('it did not become so within five seconds');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
