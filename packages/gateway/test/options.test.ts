// Invalid options of a gateway, and paths where it cannot bind a socket: the error says what is expected or what to do.

import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { InProcessToolProvider, ToolError } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';
import { createGateway } from '@toolwright/gateway';
import { describe, expect, it } from 'vitest';

const provider = (): InProcessToolProvider => new InProcessToolProvider({ servers: [] });

async function errorOf(make: () => unknown): Promise<ToolError> {
  try {
    await make();
  } catch (error) {
    if (ToolError.isInstance(error)) return error;
    throw error;
  }
  throw new Error('No error was thrown.');
}

describe('createGateway() and its serve methods reject', () => {
  it.each<[string, () => unknown, string]>([
    ['createGateway', () => createGateway(provider(), { namign: 'alias' } as never), 'did you mean `naming`?'],
    ['no provider', () => createGateway(undefined as never), 'provider must be a ToolProvider'],
    ['limits', () => createGateway(provider(), { limits: [] as never }), 'an object as `limits`, not an array'],
    ['limits.pagesize', () => createGateway(provider(), { limits: { pagesize: 5 } as never }), '`limits.pageSize`'],
    [
      'forward',
      () => createGateway(provider(), { forward: 'yes' as never }),
      'forward must be true or false, not "yes"',
    ],
    [
      'serveSocket',
      () => createGateway(provider()).serveSocket(undefined as never),
      'an object of options, not undefined',
    ],
    [
      'serveSocket, a path',
      () => createGateway(provider()).serveSocket('/s' as never),
      'an object of options, not text',
    ],
    [
      'serveSocket, socketPath',
      () => createGateway(provider()).serveSocket({ socketPath: '/s' } as never),
      'unknown option `socketPath`',
    ],
    ['serveStdio', () => createGateway(provider()).serveStdio({ stdinn: process.stdin } as never), '`stdin`'],
    ['serveHttp', () => createGateway(provider()).serveHttp({ prot: 1 } as never), 'unknown option `prot`'],
    ['serveHttp, both', () => createGateway(provider()).serveHttp({ port: 0, socketPath: '/s' }), 'one or the other'],
    [
      'serveHttp, auth',
      () => createGateway(provider()).serveHttp({ auth: { tokens: ['a'] } as never }),
      '`auth.token`',
    ],
    [
      'serveHttp, no auth',
      () => createGateway(provider()).serveHttp({ auth: 'off' as never }),
      'auth must be "none" or { token }',
    ],
    ['no provider: a server', () => createGateway({ tools: [] } as never), 'provider must be a ToolProvider'],
    [
      'logger',
      () => createGateway(provider(), { logger: 'x' as never }),
      'logger must have the functions debug, info, warn and error',
    ],
    ...(
      [
        ['port', '80', 'port must be an integer from 0 to 65535, not "80"'],
        ['port', -1, 'port must be an integer from 0 to 65535, not -1'],
        ['host', 5, 'host must be a non-empty string such as "127.0.0.1", not 5'],
        ['host', '', 'host must be a non-empty string such as "127.0.0.1", not ""'],
        ['stateless', 'yes', 'stateless must be true or false, not "yes"'],
        ['allowedHosts', 'a.example', 'allowedHosts must be an array of strings'],
        ['allowedOrigins', [5], 'allowedOrigins must be an array of strings'],
        ['allowedOrigins', ['*'], 'allowedOrigins must contain origins such as "https://app.example"'],
        ['allowedOrigins', ['https://app.example/'], 'allowedOrigins must contain origins such as'],
        ['allowedHosts', ['https://a.example'], 'allowedHosts must contain hosts such as'],
        ['path', 5, 'path must start with "/"'],
      ] as const
    ).map(([option, value, expected]): [string, () => unknown, string] => [
      `serveHttp, ${option}: ${JSON.stringify(value)}`,
      () => createGateway(provider()).serveHttp({ [option]: value }),
      `serveHttp(): ${expected}`,
    ]),
    [
      'serveStdio, stdin',
      () => createGateway(provider()).serveStdio({ stdin: 'x' as never }),
      'serveStdio(): stdin must be a readable stream',
    ],
    [
      'serveStdio, stdout',
      () => createGateway(provider()).serveStdio({ stdin: new PassThrough(), stdout: 5 as never }),
      'serveStdio(): stdout must be a writable stream',
    ],
  ])('an invalid option: %s', async (_what, make, expected) => {
    const { code, message } = await errorOf(make);
    expect(code).toBe('INVALID_ARGUMENT');
    expect(message).toContain(expected);
  });
});

describe.skipIf(process.platform === 'win32')('serveSocket()', () => {
  it.each<[string, string, (path: string) => Promise<unknown>, string, string]>([
    ['a file', 's', (path) => writeFile(path, ''), 'LOCKED', 'the path is a file, not a socket. Remove it'],
    [
      'a symbolic link',
      's',
      (path) => symlink('elsewhere', path),
      'LOCKED',
      'the path is a symbolic link, not a socket. Remove it',
    ],
    ['a directory', 's', (path) => mkdir(path), 'LOCKED', 'the path is a directory, not a socket'],
    ['a missing directory', 'd/s', () => Promise.resolve(), 'UNAVAILABLE', 'does not exist. Create it with mode 0700'],
    [
      'a file in place of the directory',
      'd/s',
      (path) => writeFile(join(path, '..'), ''),
      'UNAVAILABLE',
      'is not a directory',
    ],
  ])('reports why it cannot bind, and what to do, when it finds %s', async (_what, name, make, code, expected) => {
    await using project = await createTestProject({});
    const path = join(project.projectDir, name);
    await make(path);
    const error = await errorOf(() => createGateway(provider()).serveSocket({ path }));
    expect(error).toMatchObject({ code });
    expect(error.message).toContain(`The gateway cannot listen on ${path}: `);
    expect(error.message).toContain(expected);
  });

  it.skipIf(process.getuid?.() === 0)('reports that it may not write to the directory', async () => {
    await using project = await createTestProject({});
    await chmod(project.projectDir, 0o500);
    const error = await errorOf(() => createGateway(provider()).serveSocket({ path: join(project.projectDir, 's') }));
    await chmod(project.projectDir, 0o700);
    expect(error.message).toContain('no permission to create files in');
  });
});

describe('serveHttp() explains', () => {
  it('a port that is in use, and an address that the machine does not have', async () => {
    await using gateway = createGateway(provider());
    const { port } = await gateway.serveHttp();
    const [inUse, elsewhere] = [
      await errorOf(() => gateway.serveHttp({ port: port! })),
      await errorOf(() => gateway.serveHttp({ host: '203.0.113.5' })), // of the range for documentation
    ];
    expect([inUse.code, inUse.message]).toEqual(['UNAVAILABLE', expect.stringContaining('0 for a free port')]);
    expect(elsewhere.message).toContain('host is not an address of this machine');
  });
});
