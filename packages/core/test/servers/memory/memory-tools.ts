// Opens the memory tools over a test project and a global directory.

import { InProcessToolProvider } from '../../../src/provider/in-process-provider.js';
import type { ToolErrorCode } from '../../../src/contract/errors.js';
import type { JsonObject } from '../../../src/contract/json.js';
import { textOf } from '../../../src/contract/result.js';
import { createMemoryServer, type MemoryServerOptions } from '../../../src/servers/memory/index.js';
import { createTestProject, type TestFile, type TestProject } from '../../../src/testing/project.js';
import type { CallOptions } from '../../../src/contract/tool-provider.js';

export interface Answer {
  code: ToolErrorCode | undefined;
  text: string;
  /** Untyped, as tests read single properties. */
  data: any; // eslint-disable-line @typescript-eslint/no-explicit-any
}

/** The memory tools of a project `proj`, next to directories `outside` and `home/.mcp-memory`, the global one. */
export interface Tools extends AsyncDisposable {
  world: TestProject;
  projectDir: string;
  provider: InProcessToolProvider;
  path(name: string): string;
  call(tool: string, args?: JsonObject, options?: CallOptions): Promise<Answer>;
  /** Stores a memory and returns its ID. Throws when it is not stored. */
  store(content: string, more?: JsonObject): Promise<string>;
  /** Another provider with the same directories, like another process. */
  another(options?: Partial<MemoryServerOptions>): Tools;
}

export async function openTools(
  files: Record<string, TestFile> = {},
  options: Partial<MemoryServerOptions> = {},
): Promise<Tools> {
  const world = await createTestProject({ 'outside/kept.txt': 'kept', 'proj/.keep': '', 'home/.keep': '', ...files });
  return toolsIn(world, true, options);
}

function toolsIn(world: TestProject, owns: boolean, options: Partial<MemoryServerOptions>): Tools {
  const projectDir = options.projectDir ?? world.resolve('proj');
  const server = createMemoryServer({ globalDir: world.resolve('home/.mcp-memory'), ...options, projectDir });
  const provider = new InProcessToolProvider({ servers: [server] });
  const tools: Tools = {
    world,
    projectDir,
    provider,
    path: (name) => world.resolve(`proj/${name}`),
    async call(tool, args = {}, callOptions) {
      const result = await provider.callTool(`memory.${tool}`, args, callOptions);
      return { code: result.error?.code, text: textOf(result), data: result.structuredContent ?? {} };
    },
    async store(content, more = {}) {
      const { code, text, data } = await tools.call('store', { content, category: 'technical', ...more });
      if (code !== undefined) throw new Error(text);
      return String(data.id);
    },
    another: (more = {}) => toolsIn(world, false, { ...options, ...more }),
    async [Symbol.asyncDispose]() {
      await provider.disconnect();
      if (owns) await world[Symbol.asyncDispose]();
    },
  };
  return tools;
}

/** The contents of the memories in the result of `list`, `get` or `retrieve`. */
export function contentsOf({ data }: Answer): string[] {
  const memories: { content: string }[] =
    data.memories ?? data.results.map(({ memory }: { memory: { content: string } }) => memory);
  return memories.map(({ content }) => content);
}
