// What the tests of the diagnostics tools share: a project, its provider, and where the real language servers are.

import { access } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { InProcessToolProvider } from '../../../src/provider/in-process-provider.js';
import type { ToolErrorCode } from '../../../src/contract/errors.js';
import type { JsonObject } from '../../../src/contract/json.js';
import { textOf } from '../../../src/contract/result.js';
import { createDiagnosticsServer, type DiagnosticsServerOptions } from '../../../src/servers/diagnostics/index.js';
import { ProjectFiles } from '../../../src/servers/project/project-files.js';
import { createTestProject, type TestFile, type TestProject } from '../../../src/testing/project.js';
import type { CallOptions } from '../../../src/contract/tool-provider.js';

const repository = fileURLToPath(new URL('../../../../../', import.meta.url));
const peers = `${repository}tools/peers/node_modules/`;

/** A real server's package in tools/peers; undefined, and the reason printed, where it is not installed. */
export async function peer(name: string): Promise<string | undefined> {
  const directory = `${peers}${name}`;
  const found = await access(`${directory}/package.json`).then(
    () => true,
    () => false,
  );
  if (!found) console.warn(`Tests with ${name} are skipped: install it with "npm ci --prefix tools/peers".`);
  return found ? directory : undefined;
}

/** The TypeScript that this repository is written with: version 5, without a language server of its own. */
export const TYPESCRIPT_5 = `${repository}node_modules/typescript`;

/** A language server of the tests' own, which does what its first argument says. */
export function fixtureServer(behaviour: string, ...args: string[]): DiagnosticsServerOptions['servers'] {
  const script = fileURLToPath(new URL('fixtures/language-server.mjs', import.meta.url));
  return [{ name: 'fixture', command: process.execPath, args: [script, behaviour, ...args], extensions: ['.fix'] }];
}

export interface Answer {
  code: ToolErrorCode | undefined;
  text: string;
  /** Typed loosely, as tests look into it. */
  data: any; // eslint-disable-line @typescript-eslint/no-explicit-any
}

/** A project and the tools of its diagnostics server. */
export interface Tools extends AsyncDisposable {
  project: TestProject;
  files: ProjectFiles;
  provider: InProcessToolProvider;
  write(name: string, file: TestFile): Promise<void>;
  read(name: string): Promise<string>;
  call(tool: string, args?: JsonObject, options?: CallOptions): Promise<Answer>;
}

export async function openTools(
  content: Record<string, TestFile>,
  options: Partial<DiagnosticsServerOptions> = {},
): Promise<Tools> {
  const project = await createTestProject(content);
  const { projectDir = project.projectDir } = options;
  const projectFiles = new ProjectFiles({ fsync: false, projectDir });
  const server = createDiagnosticsServer({ ...options, projectDir, projectFiles });
  const provider = new InProcessToolProvider({ servers: [server] });
  return {
    project,
    files: projectFiles,
    provider,
    write: (name, file) => project.write(name, file),
    read: (name) => project.read(name),
    async call(tool, args = {}, callOptions) {
      const result = await provider.callTool(`diagnostics.${tool}`, args, callOptions);
      return { code: result.error?.code, text: textOf(result), data: result.structuredContent ?? {} };
    },
    async [Symbol.asyncDispose]() {
      await provider.disconnect();
      await project[Symbol.asyncDispose]();
    },
  };
}
