// What the tests of the filesystem tools share: a project, its server in a provider, and answers that are easy to read.

import { InProcessToolProvider } from '../../../src/provider/in-process-provider.js';
import type { ToolErrorCode } from '../../../src/contract/errors.js';
import type { JsonObject } from '../../../src/contract/json.js';
import { textOf } from '../../../src/contract/result.js';
import { createFilesystemServer, type FilesystemServerOptions } from '../../../src/servers/filesystem/index.js';
import { createTestProject, type TestFile, type TestProject } from '../../../src/testing/project.js';
import type { CallOptions } from '../../../src/contract/tool-provider.js';

export interface Answer {
  code: ToolErrorCode | undefined;
  text: string;
  /** The first block alone. */
  body: string;
  data: JsonObject;
  details: JsonObject;
}

/** A project `proj` in a world of its own, and the tools of its server. */
export interface Tools extends AsyncDisposable {
  world: TestProject;
  projectDir: string;
  provider: InProcessToolProvider;
  path(name: string): string;
  read(name: string): Promise<Buffer>;
  write(name: string, file: TestFile): Promise<void>;
  call(tool: string, args?: JsonObject, options?: CallOptions): Promise<Answer>;
}

export async function openTools(
  files: Record<string, TestFile> = {},
  options: Partial<FilesystemServerOptions> = {},
): Promise<Tools> {
  const world = await createTestProject({
    'outside/secret.txt': 'secret needle\n',
    'proj-evil/secret.txt': 'secret needle\n',
    'proj/.keep': '',
  });
  const projectDir = world.resolve('proj');
  for (const [name, file] of Object.entries(files)) await world.write(`proj/${name}`, file);
  const provider = new InProcessToolProvider({
    servers: [createFilesystemServer({ projectDir, fsync: false, ...options })],
  });
  return {
    world,
    projectDir,
    provider,
    path: (name) => world.resolve(`proj/${name}`),
    read: (name) => world.readBytes(`proj/${name}`),
    write: (name, file) => world.write(`proj/${name}`, file),
    async call(tool, args = {}, callOptions) {
      const result = await provider.callTool(`filesystem.${tool}`, args, callOptions);
      const [first] = result.content;
      return {
        code: result.error?.code,
        text: textOf(result),
        body: first?.type === 'text' ? first.text : '',
        data: result.structuredContent ?? {},
        details: result.error?.details ?? {},
      };
    },
    async [Symbol.asyncDispose]() {
      await provider.disconnect();
      await world[Symbol.asyncDispose]();
    },
  };
}
