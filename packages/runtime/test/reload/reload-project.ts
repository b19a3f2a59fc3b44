// A throw-away project with a provider file, which imports the provider's side from a bundle of the sources.

import { mkdtemp, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { SupervisorEvents } from '@toolwright/runtime';
import { superviseProcess, type SupervisedProcess, type SuperviseProcessOptions } from '@toolwright/runtime';
import { build } from 'esbuild';

const RUNTIME = fileURLToPath(new URL('../../', import.meta.url));
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

export interface ReloadProject extends AsyncDisposable {
  readonly directory: string;
  path(name: string): string;
  /** Writes in place, or as many editors do: another file that is renamed over the old one. */
  save(name: string, text: string, how?: 'in place' | 'by rename'): Promise<void>;
  supervise(options?: Partial<SuperviseProcessOptions>): SupervisedProcess;
}

let api: Promise<string> | undefined;

/** `api.mjs` of each project: what a provider file imports. */
async function bundleApi(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(RUNTIME, 'src/provider/index.ts')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    tsconfig: join(ROOT, 'tsconfig.json'),
    external: ['ajv', 'ajv-formats', 'zod', 'zod-to-json-schema', '@modelcontextprotocol/*'],
    logLevel: 'error',
  });
  return outputFiles[0]!.text;
}

export async function createReloadProject(files: Record<string, string>): Promise<ReloadProject> {
  const directory = await mkdtemp(join(RUNTIME, 'node_modules-reload-')); // below the package, so that ajv is found
  const path = (name: string): string => join(directory, name);
  const save: ReloadProject['save'] = async (name, text, how = 'in place') => {
    await mkdir(dirname(path(name)), { recursive: true });
    if (how === 'in place') return writeFile(path(name), text);
    await writeFile(`${path(name)}.saving~`, text);
    await rename(`${path(name)}.saving~`, path(name));
  };
  await save('api.mjs', await (api ??= bundleApi()));
  for (const [name, text] of Object.entries(files)) await save(name, text);
  const supervised: SupervisedProcess[] = [];
  return {
    directory,
    path,
    save,
    supervise: (options = {}) => {
      const provider = superviseProcess({
        name: 'counter',
        path: 'provider.mjs',
        cwd: directory,
        watch: true,
        ...options,
      });
      supervised.push(provider);
      return provider;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(supervised.map((provider) => provider.disconnect()));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** The next event of that name. */
export function next<Name extends keyof SupervisorEvents>(
  provider: SupervisedProcess,
  name: Name,
): Promise<SupervisorEvents[Name]> {
  return new Promise((resolve) => {
    const unsubscribe = provider.on(name, (event) => {
      unsubscribe();
      resolve(event);
    });
  });
}

/** A provider that counts in its state, and says which version of `deep/version.mjs`, two imports away, it has. */
export const COUNTER = {
  'provider.mjs': `
import { setTimeout as sleep } from 'node:timers/promises';
import { createProvider, createTool, startProvider } from './api.mjs';
import { version } from './middle.mjs';

const schema = { type: 'object', properties: { ms: { type: 'number' } } };
const provider = createProvider({
  name: 'counter',
  version: '1.0.0',
  description: 'Counts.',
  tools: [
    createTool({
      name: 'count',
      description: 'Counts its calls.',
      input: schema,
      execute: async ({ ms }, ctx) => {
        if (ms > 0) await sleep(ms);
        return { count: ++ctx.state.count, version, pid: process.pid, config: ctx.state.config };
      },
    }),
    createTool({
      name: 'wait',
      description: 'Waits, and says that it does.',
      input: schema,
      execute: async ({ ms }, ctx) => {
        ctx.progress({ progress: 1 });
        await sleep(ms, undefined, { signal: ctx.signal });
        return { version };
      },
    }),
  ],
  initialize: ({ config }, previous) => ({ count: previous?.count ?? 0, config, when: new Date() }),
});
export default provider;
startProvider(provider);
`,
  'middle.mjs': `export { version } from './deep/version.mjs';\n`,
  'deep/version.mjs': `export const version = 0;\n`,
};
