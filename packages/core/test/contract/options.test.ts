import { realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import {
  approveInTerminal,
  callTyped,
  defineServer,
  defineTool,
  InProcessToolProvider,
  processDirectives,
  ToolError,
  ToolHub,
  withMetrics,
  withRetry,
  withTracing,
} from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';
import {
  createAgentServer,
  createBashServer,
  createBuiltinServers,
  createDiagnosticsServer,
  createFilesystemServer,
  createGitServer,
  createMemoryServer,
  ProjectFiles,
  ProjectScope,
} from '@toolwright/core/servers';
import { MCPToolProvider } from '@toolwright/core/mcp';
import { createTestProject, expectNoLeaks, runTool, toolProviderContract } from '@toolwright/core/testing';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const projectDir = realpathSync(tmpdir());
const tool = { name: 't', description: 'A tool.', execute: () => 'done' };
const server = defineServer({ name: 's', version: '1', tools: [defineTool(tool)] });

function faultOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    expect(ToolError.isInstance(error) && error.code).toBe('INVALID_ARGUMENT');
    return (error as Error).message;
  }
  throw new Error('It was accepted.');
}

describe('assertOptions() on unknown options', () => {
  it.each<[string, () => unknown, string]>([
    ['inputSchema', () => defineTool({ ...tool, inputSchema: {} } as never), 'did you mean `input`?'],
    ['parameters', () => defineTool({ ...tool, parameters: {} } as never), 'did you mean `input`?'],
    ['handler', () => defineTool({ ...tool, handler: tool.execute } as never), 'did you mean `execute`?'],
    ['a raw zod shape', () => defineTool({ ...tool, input: { a: z.string() } as never }), 'z.object({ … })'],
    ['toolz', () => defineServer({ name: 's', version: '1', toolz: [] } as never), 'did you mean `tools`?'],
    ['one tool for all', () => defineServer({ name: 's', version: '1', tools: defineTool(tool) as never }), 'array'],
    ['provider of a hub', () => new ToolHub({ provider: [] } as never), 'did you mean `providers`?'],
    ['a pin store', () => new ToolHub({ pins: {} } as never), 'pins must have the functions load and save'],
    ['pin', () => new ToolHub({ providers: [{ provider: null, pin: true } as never] }), '`pin`'],
    ['limits.maxTextByte', () => new ToolHub({ limits: { maxTextByte: 1 } as never }), '`limits.maxTextBytes`'],
    [
      'policy.aprove',
      () => new ToolHub({ policy: { rules: [], default: 'ask', aprove: 1 } as never }),
      '`policy.approve`',
    ],
    [
      'a rule',
      () => new ToolHub({ policy: { rules: [{ tool: 'x', patern: 'a', action: 'allow' } as never], default: 'deny' } }),
      'did you mean `pattern`?',
    ],
    ["a hub's name", () => new ToolHub({ name: 'a b' }), 'name must be'],
    ['onDecision', () => new ToolHub({ onDecision: 'x' as never }), 'onDecision must be a function'],
    ['logger', () => new ToolHub({ logger: true as never }), 'logger must have the functions'],
    [
      'trustDirectives',
      () =>
        new ToolHub({
          providers: [{ provider: new InProcessToolProvider({ servers: [] }), trustDirectives: 'no' as never }],
        }),
      'trustDirectives must be true or false',
    ],
    [
      'permission of an entry',
      () =>
        new ToolHub({
          providers: [{ provider: new InProcessToolProvider({ servers: [] }), permission: 'x' as never }],
        }),
      'permission must be a function',
    ],
    ['no servers', () => new InProcessToolProvider(undefined as never), 'an object of options, not undefined'],
    [
      'toolProviderContract()',
      () => toolProviderContract('x', () => undefined as never, { decribe: () => 1 } as never),
      '{ describe, it }',
    ],
    ['providers for options', () => new ToolHub([] as never), 'not an array'],
    ['a server for a provider', () => new ToolHub({ providers: [server as never] }), 'servers: [server]'],
    ['server', () => new InProcessToolProvider({ server: [server] } as never), 'did you mean `servers`?'],
    ['servers for options', () => new InProcessToolProvider([server] as never), 'not an array'],
    ['one server for all', () => new InProcessToolProvider({ servers: server as never }), 'an array of servers'],
    [
      'a tool for a server',
      () => new InProcessToolProvider({ servers: [defineTool(tool) as never] }),
      'defineServer()',
    ],
    ['a tool server', () => createFilesystemServer({ projectDir, requiresRead: false } as never), '`requireRead`'],
    ['bash', () => createBashServer({ projectDir, sandBox: 'off' } as never), '`sandbox`'],
    ['git', () => createGitServer({ projectDir, group: [] } as never), '`groups`'],
    ['memory', () => createMemoryServer({ projectDir, global: '/x' } as never), 'unknown option `global`'],
    ['diagnostics', () => createDiagnosticsServer({ projectDir, idleMS: 1 } as never), '`idleMs`'],
    [
      'a language server',
      () =>
        createDiagnosticsServer({
          projectDir,
          servers: [{ name: 'a', command: 'a', extensions: ['.a'], pushOnce: true } as never],
        }),
      '`servers[0].pushesOnce`',
    ],
    [
      'a checker',
      () => createDiagnosticsServer({ projectDir, checkers: [{ name: 'a', command: 'a', arg: [] } as never] }),
      '`checkers[0].args`',
    ],
    ['the agent server', () => createAgentServer({ tier: [] } as never), '`tiers`'],
    ['output limits', () => createBashServer({ projectDir, output: { maxLine: 5 } as never }), '`output.maxLines`'],
    ['all servers', () => createBuiltinServers({ projectDir, filesytem: false } as never), '`filesystem`'],
    ['no project', () => createBuiltinServers(undefined as never), 'an object of options, not undefined'],
    [
      'one of the servers',
      () => createBuiltinServers({ projectDir, bash: { sandBox: 'off' } as never }),
      'createBashServer(): unknown option `sandBox`',
    ],
    ['ProjectFiles', () => new ProjectFiles({ projectDir, fsinc: true } as never), '`fsync`'],
    [
      'an extra root',
      () => new ProjectScope({ projectDir, extraRoots: [{ path: projectDir, mode: 'ro', name: 'x' } as never] }),
      '`extraRoots[0].name`',
    ],
    ['forProject()', () => InProcessToolProvider.forProject(projectDir, { bsh: false } as never), '`bash`'],
    ['approveInTerminal()', () => approveInTerminal({ inputs: process.stdin } as never), '`input`'],
    ['expectNoLeaks()', () => expectNoLeaks({ grace: 1 } as never), '`graceMs`'],
  ])('are refused: %s', (_what, make, words) => {
    expect(faultOf(make)).toContain(words);
  });

  it('names them with all other faults of a definition', () => {
    const message = faultOf(() => defineTool({ name: 'a b', handler: 1, description: '' } as never));
    for (const words of ['handler', 'name must be', 'description must', 'execute must'])
      expect(message).toContain(words);
  });
});

describe('exported functions with wrong arguments', () => {
  const done = defineTool(tool);
  it.each<[string, () => Promise<unknown>, string]>([
    ['listTools()', () => new ToolHub().listTools({ includes: ['a'] } as never), 'did you mean `include`?'],
    ['remove()', () => new ToolHub().remove('x', { drain: 5 } as never), 'did you mean `drainMs`?'],
    ['callTyped(), a server', () => callTyped(server as never, done, {}), 'servers: [server]'],
    ['callTyped(), no tool', () => callTyped(new ToolHub(), 'add' as never, {}), 'defineTool() made'],
    ['callTyped(), null', () => callTyped(new ToolHub(), done, {}, null as never), 'an object of options, not null'],
    ['callTyped(), servr', () => callTyped(new ToolHub(), done, {}, { servr: 's' } as never), 'did you mean `server`?'],
    ['processDirectives()', () => processDirectives(undefined as never), 'must be an array'],
    ['new ToolHub()', async () => new ToolHub({ limits: { callTimeoutMs: '5' as never } }), 'above 0, not "5"'],
    [
      'createGitServer()',
      async () => createGitServer({ projectDir, timeoutMs: '30000' as never }),
      'milliseconds, not "30000"',
    ],
    [
      'defineTool()',
      async () => defineTool({ ...tool, input: { type: 'object', properties: {}, required: ['a'] } }),
      'requires "a", which is not in its properties.',
    ],
    ['createTestProject()', () => createTestProject({}, { gitt: true } as never), 'did you mean `git`?'],
  ])('are refused: %s', async (_what, run, words) => {
    const error: unknown = await run().then(
      () => 'It was accepted.',
      (thrown: unknown) => thrown,
    );
    expect(ToolError.isInstance(error) && error.code, String(error)).toBe('INVALID_ARGUMENT');
    expect((error as Error).message).toContain(words);
  });

  it('warn about a handler whose name resembles a directive', async () => {
    const warnings: string[] = [];
    await processDirectives([], { stop_procesing: () => undefined } as never, { warn: (text) => warnings.push(text) });
    expect(warnings).toEqual([expect.stringContaining('"stop_processing"')]);
  });

  it('reject in runTool() a value that is not a tool', async () => {
    expect((await runTool({ name: 'x' } as never, {})).error).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('defineTool()') as string,
    });
  });

  it.each<[string, unknown, string]>([
    ['null', null, 'runTool() takes an object of options, not null'],
    ['stat', { stat: {} }, 'did you mean `state`?'],
  ])('are answered: options of runTool(), %s', async (_what, options, words) => {
    const { error } = await runTool(done, {}, options as never);
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(words) as string });
  });

  it('approve nothing for a misspelt answer, and one with a misspelt rule', async () => {
    for (const approval of [
      { decision: 'always', rule: [] },
      { decision: 'always', rules: [{ tool: 's.t', patern: 'a', action: 'allow' }] },
    ]) {
      await using hub = new ToolHub({
        providers: [new InProcessToolProvider({ servers: [server] })],
        policy: { rules: [], default: 'ask', approve: () => approval as never },
      });
      const { error } = await hub.callTool('s.t');
      expect(error).toMatchObject({
        code: 'PERMISSION_DENIED',
        message: expect.stringContaining('did you mean') as string,
      });
      expect((await hub.explain('s.t')).policy?.action).toBe('ask');
    }
  });
});

describe('callTool() with unknown options', () => {
  it.each<[string, object, string]>([
    ['timeout', { timeout: 5 }, 'did you mean `timeoutMs`?'],
    ['sesionId', { sesionId: 'a' }, 'did you mean `sessionId`?'],
    ['retries', { retries: 3 }, 'unknown option `retries`; valid options: '],
  ])('are answered with INVALID_ARGUMENT before the tool runs: %s', async (_what, options, words) => {
    let runs = 0;
    const counting = defineTool({ ...tool, execute: () => `${++runs}` });
    await using provider = new InProcessToolProvider({
      servers: [defineServer({ name: 's', version: '1', tools: [counting] })],
    });
    await using hub = new ToolHub({ providers: [provider] });
    for (const target of [provider, hub]) {
      const { error } = await target.callTool('s.t', {}, options);
      expect(error?.code).toBe('INVALID_ARGUMENT');
      expect(error?.message).toContain(words);
    }
    expect((await runTool(counting, {}, options)).error?.message).toContain(words);
    await expect(callTyped(hub, counting, {}, options)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(runs).toBe(0);
  });
});

describe('new MCPToolProvider()', () => {
  it.each<[string, object, string]>([
    ['env, an array', { command: 'x', env: ['A=b'] }, 'env must be an object of strings'],
    ['env, a Map', { command: 'x', env: new Map([['A', 'b']]) }, 'env must be an object of strings'],
    ['headers, Headers', { url: 'http://x', headers: new Headers({ a: 'b' }) }, 'headers must be an object of strings'],
    ['headers, a line end', { url: 'http://x', headers: { a: 'b\nc' } }, 'a value has a line end'],
    ['headers, a name', { url: 'http://x', headers: { 'a\nb': 'c' } }, 'the name "a\\nb" has a character'],
    ['headers of a program', { command: 'x', headers: {} }, 'headers cannot be combined with command'],
    ['two places', { command: 'x', url: 'http://x' }, 'got command and url'],
    ['args, a string', { command: 'x', args: '-v' }, 'args must be an array of strings'],
    ['args, a NUL', { command: 'x', args: ['a\0b'] }, 'command and args must not contain NUL'],
    ['cwd', { command: 'x', cwd: 5 }, 'cwd must be an absolute path'],
    ['transport', { transport: 5 }, 'transport must be an MCP transport, or a function that creates one'],
    ['extraRoots', { command: 'x', projectDir, extraRoots: '/x' }, 'extraRoots must be an array'],
  ])('is refused: %s', (_what, place, words) => {
    expect(faultOf(() => new MCPToolProvider({ name: 'm', ...place } as never))).toContain(words);
  });
});

describe('runTool()', () => {
  it.each<[string, number | boolean | unknown[]]>([
    ['a number', 3],
    ['a boolean', false],
    ['an array', ['a', 1]],
    ['an empty array', []],
  ])('wraps %s as { result }', async (_what, result) => {
    const given = await runTool(defineTool({ ...tool, execute: () => result }), {});
    expect(given).toMatchObject({ isError: false, structuredContent: { result } });
  });
});

/** Values of the wrong type, each with the option that the error must name. */
const WRONG_VALUES: [string, string, unknown][] = [
  ['createFilesystemServer', 'extraRoots', { path: '/srv', mode: 'ro' }],
  ['createFilesystemServer', 'allowProtected', '.vscode'],
  ['createFilesystemServer', 'allowProtected', [7]],
  ['createFilesystemServer', 'allowProtected', ['']],
  ['createFilesystemServer', 'verification', 'descripter'],
  ['createFilesystemServer', 'fsync', 'false'],
  ['createFilesystemServer', 'requireRead', 'false'],
  ['createFilesystemServer', 'afterChange', {}],
  ['createFilesystemServer', 'projectFiles', {}],
  ['createGitServer', 'groups', 'merge'],
  ['createGitServer', 'protocols', 'https'],
  ['createGitServer', 'projectFiles', null],
  ['createBashServer', 'network', 'yes'],
  ['createBashServer', 'readable', '/opt'],
  ['createBashServer', 'shell', 'bash'],
  ['createBashServer', 'sandboxWith', {}],
  ['createBashServer', 'env', new Map([['A', 'b']])],
  ['createDiagnosticsServer', 'servers', {}],
  ['createDiagnosticsServer', 'checkers', 'tsc'],
  ['createMemoryServer', 'allowDownload', 'no'],
  ['createMemoryServer', 'durability', null],
  ['createMemoryServer', 'backend', 'sqlite'],
  ['defineTool', 'title', 7],
  ['defineTool', 'annotations', null],
  ['defineTool', 'icons', 'a.png'],
  ['defineTool', '_meta', []],
  ['defineTool', 'permission', true],
  ['defineTool', 'permissionPattern', 'echo *'],
  ['defineServer', 'start', {}],
  ['defineServer', 'stop', 'stop'],
  ['defineServer', 'endSession', 1],
  ['defineServer', 'keepsSessionState', 'yes'],
  ['InProcessToolProvider', 'callTimeoutMs', '5s'],
  ['InProcessToolProvider', 'logger', { log: () => undefined }],
  ['withRetry', 'onRetry', 'log'],
  ['withTracing', 'tracer', 'otel'],
  ['withTracing', 'attributes', {}],
  ['withMetrics', 'meter', 1],
  ['MCPToolProvider', 'container.mounts[0].readonly', { container: { mounts: [{ readonly: true }] } }],
  ['MCPToolProvider', 'container.mounts[0].readOnly', { container: { mounts: [{ readOnly: 'no' }] } }],
  ['MCPToolProvider', 'container.mounts[0].source', { container: { mounts: [{ target: '/b' }] } }],
  ['MCPToolProvider', 'container.args', { container: { args: '--flag' } }],
];

const MAKERS: Record<string, (options: object) => unknown> = {
  createFilesystemServer: (options) => createFilesystemServer({ projectDir, ...options }),
  createGitServer: (options) => createGitServer({ projectDir, ...options }),
  createBashServer: (options) => createBashServer({ projectDir, ...options }),
  createDiagnosticsServer: (options) => createDiagnosticsServer({ projectDir, ...options }),
  createMemoryServer: (options) => createMemoryServer({ projectDir, ...options }),
  defineTool: (options) => defineTool({ ...tool, ...options }),
  defineServer: (options) => defineServer({ name: 's', version: '1', tools: [], ...options }),
  InProcessToolProvider: (options) => new InProcessToolProvider({ servers: [server], ...options }),
  withRetry,
  withTracing,
  withMetrics,
  MCPToolProvider: ({ container }: { container?: object }) =>
    new MCPToolProvider({ name: 'm', container: { image: 'x', ...container } }),
};

describe('values of the wrong type', () => {
  it.each(WRONG_VALUES)('%s() refuses %s with the value %j, naming it', (maker, option, value) => {
    const options = option.includes('.') ? (value as object) : { [option]: value };
    expect(faultOf(() => MAKERS[maker]?.(options))).toContain(option);
  });

  it('spawnChild() refuses unknown and wrong options and never throws', async () => {
    for (const [options, fault] of [
      [undefined, 'object of options'],
      [{ command: 'true', cwd: projectDir, timeoutMs: 5 }, '`timeoutMs`'],
      [{ command: 'true', cwd: projectDir, args: '--version' }, '`args` must be an array'],
    ] as const)
      await expect(spawnChild(options as never).exited).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining(fault) as string,
      });
  });
});
