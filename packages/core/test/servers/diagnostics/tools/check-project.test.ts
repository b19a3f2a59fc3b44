// check_project with real checkers on real projects. What is not installed is skipped, with the reason.

import { existsSync } from 'node:fs';
import { symlink, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { InProcessToolProvider } from '../../../../src/provider/in-process-provider.js';
import type { JsonObject } from '../../../../src/contract/json.js';
import { textOf } from '../../../../src/contract/result.js';
import { checkProjectTool, type CheckProjectContext } from '../../../../src/servers/diagnostics/tools/check-project.js';
import { createDiagnosticsServer } from '../../../../src/servers/diagnostics/index.js';
import { checkersWith, type CheckerOptions } from '../../../../src/servers/diagnostics/checkers/checkers.js';
import { outputLimits } from '../../../../src/servers/project/output-budget.js';
import { ProjectFiles } from '../../../../src/servers/project/project-files.js';
import { expectNoLeaks } from '../../../../src/testing/leaks.js';
import { createTestProject, type TestFile } from '../../../../src/testing/project.js';
import { defineServer } from '../../../../src/tool/define-server.js';

const REPOSITORY = fileURLToPath(new URL('../../../../../../', import.meta.url));
const OWN = join(REPOSITORY, 'node_modules');
const PEERS = join(REPOSITORY, 'tools/peers/node_modules');
const NODE = process.execPath;

interface Setup {
  trust?: CheckProjectContext['trust'];
  checkers?: CheckerOptions[];
  /** Packages to find in node_modules: name to directory. */
  packages?: Record<string, string>;
}

async function openProject(
  files: Record<string, TestFile>,
  { trust = 'trusted', checkers = [], packages = {} }: Setup = {},
) {
  const project = await createTestProject(files);
  for (const [name, directory] of Object.entries(packages)) {
    const place = project.resolve(`node_modules/${name}`);
    await mkdir(dirname(place), { recursive: true });
    await symlink(directory, place);
  }
  const context: CheckProjectContext = {
    files: new ProjectFiles({ projectDir: project.projectDir }),
    trust,
    checkers: checkersWith(checkers),
    limits: outputLimits('test'),
  };
  const server = defineServer({ name: 'diagnostics', version: '0.1.0', tools: [checkProjectTool(context)] });
  const provider = new InProcessToolProvider({ servers: [server] });
  return {
    project,
    provider,
    async check(args: JsonObject = {}, options: { signal?: AbortSignal; onProgress?: () => void } = {}) {
      const result = await provider.callTool('diagnostics.check_project', args, options);
      return { text: textOf(result), code: result.error?.code, data: result.structuredContent! };
    },
    async [Symbol.asyncDispose]() {
      await provider.disconnect();
      await project[Symbol.asyncDispose]();
    },
  };
}

const TSCONFIG = JSON.stringify({
  compilerOptions: { strict: true, skipLibCheck: true, types: [], lib: ['es2022'] },
  include: ['src'],
});
const typescripts = [
  ['5.9', join(OWN, 'typescript')],
  ['7', join(PEERS, 'typescript7')],
] as const;

describe.each(typescripts)('check_project() by tsc of TypeScript %s', (_version, directory) => {
  const missing = existsSync(directory) ? undefined : `${directory.replace(REPOSITORY, '')} is not installed`;
  const packages = { typescript: directory };

  it.skipIf(missing)(`reports an error at its place, after an emoji${missing ? `: ${missing}` : ''}`, async () => {
    await using opened = await openProject(
      { 'tsconfig.json': TSCONFIG, 'src/a.ts': "/* 😀 */ const a: number = 'x';\n", 'src/b.ts': 'export {};\n' },
      { packages },
    );
    const { code, data, text } = await opened.check();
    expect(code, text).toBeUndefined();
    expect(data).toMatchObject({
      checker: 'tsc',
      complete: true,
      truncated: false,
      counts: { error: 1, warning: 0 },
      files: [
        { path: 'src/a.ts', diagnostics: [{ line: 1, column: 16, code: '2322', severity: 'error', source: 'ts' }] },
      ],
    });
    expect(text).toContain('src/a.ts:1:16 error ts 2322:');
    expect(data.exit_code).not.toBe(0);
  });

  it.skipIf(missing)('reports that a clean project is clean, and how many files it looked at', async () => {
    await using opened = await openProject(
      { 'tsconfig.json': TSCONFIG, 'src/a.ts': 'export const a = 1;\n' },
      { packages },
    );
    const { data, text } = await opened.check();
    expect(data).toMatchObject({ complete: true, exit_code: 0, files: [], files_checked: 1, counts: { error: 0 } });
    expect(text).toBe('tsc: none.');
  });

  it.skipIf(missing)('calls no project clean that tsc did not look at', async () => {
    for (const tsconfig of [
      '{ "files": [] , "references": [] }',
      '{ "include": ["nowhere"] }',
      '{ "extends": "./gone.json" }',
    ]) {
      await using opened = await openProject(
        { 'tsconfig.json': tsconfig, 'src/a.ts': 'let a: number = "x";\n' },
        { packages },
      );
      const { data, text } = await opened.check();
      expect(data.complete, `${tsconfig}\n${text}`).toBe(false);
      expect(text).toContain('did not check the whole project');
    }
  });
});

describe('check_project() by eslint', () => {
  it('reports errors and warnings, and keeps to the severity that was asked for', async () => {
    await using opened = await openProject(
      {
        'eslint.config.mjs': "export default [{ rules: { 'no-debugger': 'error', 'no-var': 'warn' } }];\n",
        'a.js': 'var a = 1;\ndebugger;\n',
      },
      { packages: { eslint: join(OWN, 'eslint') } },
    );
    const { data, text } = await opened.check();
    expect(data, text).toMatchObject({
      checker: 'eslint',
      complete: true,
      exit_code: 1,
      counts: { error: 1, warning: 1 },
      files: [
        {
          path: 'a.js',
          diagnostics: [
            { line: 1, column: 1, severity: 'warning', code: 'no-var' },
            { line: 2, column: 1, end_line: 2, end_column: 10, severity: 'error', code: 'no-debugger' },
          ],
        },
      ],
    });
    const errors = await opened.check({ severity: 'error' });
    expect(errors.data).toMatchObject({ counts: { error: 1, warning: 1 }, files: [{ diagnostics: [{ line: 2 }] }] });
  });
});

const cargo = existsSync(join(process.env.HOME ?? '/', '.cargo/bin/cargo')) || undefined;
describe('check_project() by cargo', () => {
  it.skipIf(!cargo)(
    `uses the position encoding UTF-16 units${cargo ? '' : ': cargo is not installed'}`,
    async () => {
      await using opened = await openProject({
        'Cargo.toml': '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
        'src/main.rs': 'fn main() { let _s = "😀é"; let _n: i32 = "x"; }\n',
      });
      const { data, text } = await opened.check({ checker: 'cargo' });
      expect(data, text).toMatchObject({
        complete: true,
        counts: { error: 1 },
        files: [
          {
            path: 'src/main.rs',
            diagnostics: [{ line: 1, column: 43, end_column: 46, code: 'E0308', source: 'rustc' }],
          },
        ],
      });
    },
    60_000,
  );
});

describe('check_project() by pyright', () => {
  const pyright = join(PEERS, 'pyright');
  const missing = existsSync(pyright) ? undefined : 'tools/peers is not installed';

  it.skipIf(missing)(
    `reports an error of types${missing ? `: ${missing}` : ''}`,
    async () => {
      await using opened = await openProject(
        { 'pyrightconfig.json': '{}', 'a.py': 'x: int = "s"\n' },
        { packages: { pyright } },
      );
      const { data, text } = await opened.check();
      expect(data, text).toMatchObject({
        checker: 'pyright',
        complete: true,
        files: [{ path: 'a.py', diagnostics: [{ line: 1, column: 10, end_column: 13, severity: 'error' }] }],
      });
    },
    60_000,
  );
});

/** A checker of the host's own that does what a script says. */
const scripted = (script: string, format?: CheckerOptions['format']): Setup => ({
  checkers: [{ name: 'own', command: NODE, args: ['-e', script], format }],
});

describe('check_project()', () => {
  it('refuses an untrusted project, and runs nothing', async () => {
    await using opened = await openProject(
      {},
      { trust: 'untrusted', ...scripted("require('fs').writeFileSync('ran', '')") },
    );
    const { code, text } = await opened.check();
    expect(code).toBe('PERMISSION_DENIED');
    expect(text).toContain("trust: 'trusted'");
    expect(existsSync(opened.project.resolve('ran'))).toBe(false);
  });

  it("runs the host's own checker, and omits what is outside the project", async () => {
    const print =
      "console.log('a.c:3:7: warning: unused\\n/etc/passwd:1:1: error: x\\n../up.c:1:1: error: y'); process.exit(2)";
    await using opened = await openProject({ 'a.c': '' }, scripted(print));
    const { data, text } = await opened.check();
    expect(data, text).toMatchObject({
      checker: 'own',
      exit_code: 2,
      complete: true,
      outside: 2,
      counts: { error: 0, warning: 1 },
      files: [{ path: 'a.c', diagnostics: [{ line: 3, column: 7 }] }],
    });
    expect(text).not.toContain('passwd');
  });

  it('calls a checker that fails without a word, or with words alone, not complete', async () => {
    for (const script of ['process.exit(3)', "console.error('it broke'); process.exit(3)", "console.log('all fine')"]) {
      await using opened = await openProject({}, scripted(script));
      const { data, text } = await opened.check();
      expect(data.complete, `${script}\n${text}`).toBe(false);
    }
    await using opened = await openProject({}, scripted("console.error('it broke'); process.exit(3)"));
    expect((await opened.check()).text).toContain('[output of own] it broke');
  });

  it('returns the first of many, and counts all', async () => {
    const print = 'for (let i = 1; i <= 50; i++) console.log(`a.c:${i}:1: error: e\\nb.c:${i}:1: error: e`)';
    await using opened = await openProject({}, scripted(print));
    const { data } = await opened.check({ limit: 60 });
    expect(data).toMatchObject({ truncated: true, counts: { error: 100 } });
    expect((data.files as { diagnostics: unknown[] }[]).map(({ diagnostics }) => diagnostics.length)).toEqual([50, 10]);
  });

  it('ends a checker at its timeout, telling what it had found', async () => {
    await using _ = expectNoLeaks();
    await using opened = await openProject(
      {},
      scripted("console.log('a.c:1:1: error: e'); setInterval(() => {}, 1e3)"),
    );
    const { code, data } = await opened.check({ timeout_ms: 1_000 });
    expect(code).toBe('TIMED_OUT');
    expect(data).toMatchObject({ complete: false, timed_out: true, exit_code: null, counts: { error: 1 } });
  });

  it('ends a checker and what it started when the call is cancelled', async () => {
    await using _ = expectNoLeaks();
    const controller = new AbortController();
    const script = `
      const { spawn } = require('child_process');
      spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e3)'], { stdio: 'inherit' });
      setInterval(() => {}, 1e3);`;
    await using opened = await openProject({}, scripted(script));
    const { code } = await opened.check({}, { signal: controller.signal, onProgress: () => controller.abort() });
    expect(code).toBe('CANCELLED');
  });

  it('ends a checker that prints without end', async () => {
    await using opened = await openProject(
      {},
      scripted("const b = 'x'.repeat(1 << 20); (function w() { process.stdout.write(b, w) })()"),
    );
    const { data } = await opened.check();
    expect(data).toMatchObject({ complete: false, exit_code: null, said: ['Its output was larger than 64 MiB.'] });
  }, 60_000);

  it('runs the checker with a plain environment, without the secrets of the host', async () => {
    process.env.CHECKER_TEST_SECRET = 'canary';
    try {
      const print = 'console.log(`a.c:1:1: error: ${process.env.CHECKER_TEST_SECRET} ${process.env.CI}`)';
      await using opened = await openProject({}, scripted(print));
      expect((await opened.check()).text).toContain('undefined 1');
    } finally {
      delete process.env.CHECKER_TEST_SECRET;
    }
  });

  it.each([
    [{ name: 'a b', command: 'x' }, 'name must be'],
    [{ name: 'auto', command: 'x' }, 'auto'],
    [{ name: 'x', command: '' }, 'command must be'],
    [{ name: 'x', command: 'x', format: 'xml' }, 'format must be one of tsc, eslint'],
  ])('createDiagnosticsServer() refuses the checker %j', async (checker, said) => {
    await using project = await createTestProject({});
    const options = { projectDir: project.projectDir, checkers: [checker as CheckerOptions] };
    expect(() => createDiagnosticsServer(options)).toThrow(said);
  });

  it('is a tool of the diagnostics server, and takes the TypeScript of the host', async () => {
    await using project = await createTestProject({ 'tsconfig.json': TSCONFIG, 'src/a.ts': "let a: number = 'x';\n" });
    const typescript = join(OWN, 'typescript');
    const server = createDiagnosticsServer({ projectDir: project.projectDir, trust: 'trusted', typescript });
    await using provider = new InProcessToolProvider({ servers: [server] });
    const { structuredContent } = await provider.callTool('diagnostics.check_project');
    expect(structuredContent).toMatchObject({ checker: 'tsc', complete: true, counts: { error: 1 } });
  });

  it('names what is missing, and how to get it', async () => {
    await using none = await openProject({});
    expect(await none.check()).toMatchObject({
      code: 'UNAVAILABLE',
      text: expect.stringContaining('No checker fits') as string,
    });
    await using ruff = await openProject(
      { 'ruff.toml': '' },
      { checkers: [{ name: 'ruff', command: '/nowhere/ruff' }] },
    );
    expect(await ruff.check()).toMatchObject({
      code: 'UNAVAILABLE',
      text: expect.stringContaining('install /nowhere/ruff') as string,
    });
    expect(await none.check({ checker: 'tcs' })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      text: expect.stringContaining('tsc') as string,
    });
  });
});
