// The socket of a host: who is let in, who is not, and what becomes of the rest meanwhile.

import { randomBytes } from 'node:crypto';
import { lstat, mkdir, mkdtemp, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ToolError, type JsonObject } from '@toolwright/core';
import { expectNoLeaks } from '@toolwright/core/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { ProviderListener, type Expectation, type ListenerOptions } from '../../src/wire/listener.js';
import { speaksProtocol } from '../../src/wire/protocol.js';
import { assertPrivateDirectory, assertSocketPath, bindPrivately } from '../../src/wire/socket-path.js';
import { tries } from '../soak.js';
import { RawPeer } from './raw-peer.js';

const WELCOME = { config: { a: 1 }, variables: { key: 'v' }, previousState: null };
const TOOL = { name: 'echo', description: 'd', inputSchema: { type: 'object' } };
const held: { release(): Promise<void> }[] = [];
const open: RawPeer[] = [];

afterEach(async () => {
  for (const raw of open.splice(0)) raw[Symbol.dispose]();
  for (const expectation of held.splice(0)) await expectation.release();
});

async function expectOne(options?: ListenerOptions): Promise<{ listener: ProviderListener; expectation: Expectation }> {
  const listener = new ProviderListener(options);
  return { listener, expectation: await expectAnother(listener) };
}

async function expectAnother(listener: ProviderListener, name = 'calc'): Promise<Expectation> {
  const expectation = await listener.expect(name, WELCOME);
  held.push(expectation);
  return expectation;
}

async function connectRaw(path: string): Promise<RawPeer> {
  const raw = await RawPeer.connect(path);
  open.push(raw);
  return raw;
}

const registration = (token: string, more: JsonObject = {}): JsonObject => ({
  id: 1,
  method: 'provider/register',
  params: {
    protocol: 1,
    token,
    name: 'calc',
    version: '1',
    description: '',
    tools: [TOOL],
    pid: 1,
    capabilities: {},
    ...more,
  },
});

async function refusalOf({ registered }: Expectation): Promise<ToolError> {
  return registered.then(
    () => expect.unreachable('it was let in'),
    (error: unknown) => error as ToolError,
  );
}

describe('ProviderListener', () => {
  it('listens in a directory of its own that only this user can enter, and leaves nothing behind', async () => {
    await using _ = expectNoLeaks();
    const { listener, expectation } = await expectOne();
    const [file, directory] = await Promise.all([
      lstat(expectation.socketPath),
      lstat(dirname(expectation.socketPath)),
    ]);
    expect([file.isSocket(), file.mode & 0o777, directory.mode & 0o777]).toEqual([true, 0o600, 0o700]);
    expect(Buffer.byteLength(expectation.socketPath)).toBeLessThanOrEqual(100);
    expect(expectation.token).toMatch(/^[0-9a-f]{64}$/);
    await expectation.release();
    expect(listener.socketPath).toBeUndefined();
    await expect(lstat(dirname(expectation.socketPath))).rejects.toThrow(/ENOENT/);
  });

  it('admits a process with the token, and sends it the settings and limits', async () => {
    const { expectation } = await expectOne();
    const raw = await connectRaw(expectation.socketPath);
    raw.send(registration(expectation.token));
    expect((await raw.next()).result).toEqual({
      protocol: 1,
      ...WELCOME,
      limits: { maxFrameBytes: 16_777_216, maxDepth: 64 },
    });
    const { registration: said } = await expectation.registered;
    expect(said.tools.map(({ definition }) => definition.name)).toEqual(['calc.echo']);
  });

  it.each([
    ['a wrong token', () => randomBytes(32).toString('hex')],
    ['no token', () => undefined],
    ['a number', () => 7],
    ['the token with one digit changed', (token: string) => token.replace(/.$/, (last) => (last === '0' ? '1' : '0'))],
  ])('refuses %s for good, and closes; the right one still gets in', async (_what, change) => {
    const { expectation } = await expectOne();
    const raw = await connectRaw(expectation.socketPath);
    raw.send(registration(change(expectation.token) as string));
    const { error } = await raw.next();
    expect(error).toMatchObject({ data: { code: 'PROTOCOL_VIOLATION', details: { permanent: true } } });
    expect(JSON.stringify(error)).not.toContain(expectation.token);
    await raw.closed();
    const right = await connectRaw(expectation.socketPath);
    right.send(registration(expectation.token));
    expect((await right.next()).result).toBeDefined();
  });

  it('takes a token once', async () => {
    const { expectation } = await expectOne();
    const first = await connectRaw(expectation.socketPath);
    first.send(registration(expectation.token));
    await first.next();
    const second = await connectRaw(expectation.socketPath);
    second.send(registration(expectation.token));
    expect((await second.next()).error).toMatchObject({ data: { code: 'PROTOCOL_VIOLATION' } });
    await second.closed();
    first.send({ id: 2, method: 'ping' });
    expect(await first.next()).toMatchObject({ id: 2, result: {} });
  });

  it("refuses another's name, naming both", async () => {
    const { expectation } = await expectOne();
    const raw = await connectRaw(expectation.socketPath);
    raw.send(registration(expectation.token, { name: 'files' }));
    const { code, message, details } = await refusalOf(expectation);
    expect([code, details?.permanent]).toEqual(['PROTOCOL_VIOLATION', true]);
    expect(message).toMatch(/"calc".*"files"/);
    await raw.closed();
  });

  it.each([
    [{ protocol: 2 }, /version 2 .* version 1/],
    [{ protocol: 0 }, /version 0 .* version 1/],
    [{ protocol: '1' }, /version "1"/],
    [{ tools: 'none' }, /tools must be an array/],
    [{ tools: [TOOL, TOOL] }, /two tools are named "echo"/],
    [{ tools: [{ ...TOOL, name: 'a.b' }] }, /a tool's name must be/],
    [
      {
        tools: [
          { ...TOOL, inputSchema: 1 },
          { ...TOOL, name: 'x', description: 4 },
        ],
      },
      /inputSchema.*echo.*description.*"x"/,
    ],
    [{ version: 1 }, /version must be a string/],
  ])('refuses the registration %j for good', async (wrong, words) => {
    const { expectation } = await expectOne();
    const raw = await connectRaw(expectation.socketPath);
    raw.send(registration(expectation.token, wrong));
    const error = await refusalOf(expectation);
    expect([error.code, error.details?.permanent]).toEqual(['PROTOCOL_VIOLATION', true]);
    expect(error.message).toMatch(words);
  });

  it('refuses a first message that is no registration', async () => {
    const { expectation } = await expectOne();
    const raw = await connectRaw(expectation.socketPath);
    raw.send({ id: 1, method: 'tools/list' });
    expect((await raw.next()).error).toMatchObject({
      message: expect.stringContaining('provider/register') as unknown,
    });
    await raw.closed();
  });

  it('refuses the 65th connection immediately, and serves others meanwhile', async () => {
    const { listener, expectation } = await expectOne();
    const busy = await expectAnother(listener);
    const early = await connectRaw(expectation.socketPath);
    early.send(registration(expectation.token));
    await early.next(); // it is registered, and takes no place
    const waiting = await Promise.all(Array.from({ length: 64 }, () => connectRaw(busy.socketPath)));
    for (const raw of waiting) raw.send({ id: 0, method: 'ping' });
    await Promise.all(waiting.map((raw) => raw.next()));
    const startedAt = performance.now();
    const refused = await connectRaw(busy.socketPath);
    expect(await refused.next()).toMatchObject({ id: null, error: { data: { code: 'BUSY', retryable: true } } });
    await refused.closed();
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    early.send({ id: 2, method: 'ping' });
    await early.next();
    waiting[0]!.socket.destroy();
    await expect.poll(() => listener.unregistered).toBe(63);
    const next = await connectRaw(busy.socketPath);
    next.send(registration(busy.token));
    expect((await next.next()).result).toBeDefined();
  });

  it('limits the total time of a handshake, however slowly bytes arrive', async () => {
    const { listener, expectation } = await expectOne({ handshakeTimeoutMs: 300 });
    const loris = await connectRaw(expectation.socketPath);
    const drip = setInterval(() => loris.send('{"jsonrpc'), 20);
    const refusal = await loris.next();
    clearInterval(drip);
    expect(refusal).toMatchObject({ error: { data: { code: 'TIMED_OUT' } } });
    await loris.closed();
    await expect.poll(() => listener.unregistered).toBe(0);
  });

  it(`survives ${tries(10_000)} connections, a thousand at once, and admits the right one`, async () => {
    const { listener, expectation } = await expectOne({ maxUnregistered: 64 });
    for (let connects = 0; connects < tries(10_000); connects += 1_000) {
      const flood = await Promise.allSettled(
        Array.from({ length: 1_000 }, () => RawPeer.connect(expectation.socketPath)),
      );
      for (const each of flood) if (each.status === 'fulfilled') each.value.socket.destroy();
    }
    await expect.poll(() => listener.unregistered).toBe(0);
    const raw = await connectRaw(expectation.socketPath);
    raw.send(registration(expectation.token));
    expect((await raw.next()).result).toBeDefined();
  }, 60_000);

  it('creates its socket again, at the same path, when it was removed', async () => {
    const { expectation } = await expectOne();
    await unlink(expectation.socketPath);
    const startedAt = performance.now();
    await expect
      .poll(
        () =>
          connectRaw(expectation.socketPath).then(
            () => true,
            () => false,
          ),
        { interval: 20 },
      )
      .toBe(true);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    const raw = await connectRaw(expectation.socketPath);
    raw.send(registration(expectation.token));
    expect((await raw.next()).result).toBeDefined();
  });

  it('leaves a file alone that has taken the place of its socket', async () => {
    const { expectation } = await expectOne();
    await rm(expectation.socketPath);
    await writeFile(expectation.socketPath, 'not yours');
    await expectation.release();
    expect(await readFile(expectation.socketPath, 'utf8')).toBe('not yours');
    await rm(dirname(expectation.socketPath), { recursive: true });
  });

  it('uses another path when its own is taken by another file, which it leaves unchanged', async () => {
    const { listener, expectation } = await expectOne();
    const directory = dirname(expectation.socketPath);
    await rename(expectation.socketPath, join(directory, 'moved'));
    await writeFile(expectation.socketPath, 'not yours');
    const next = await expectAnother(listener);
    expect(next.socketPath).not.toBe(expectation.socketPath);
    const raw = await connectRaw(next.socketPath);
    raw.send(registration(next.token));
    expect((await raw.next()).result).toBeDefined();
    await Promise.all([expectation.release(), next.release()]);
    expect(await readFile(expectation.socketPath, 'utf8')).toBe('not yours');
    await rm(directory, { recursive: true });
  });
});

describe('bindPrivately()', () => {
  it.each(['file', 'link', 'dangling link', 'directory', 'socket'])(
    'refuses a %s at its path, and leaves it unchanged',
    async (what) => {
      const directory = await mkdtemp(join(tmpdir(), 'toolwright-'));
      const path = join(directory, 's');
      const other = createServer();
      if (what === 'file') await writeFile(path, 'x');
      else if (what === 'directory') await mkdir(path);
      else if (what === 'socket') await new Promise<void>((resolve) => other.listen(path, resolve));
      else await symlink(what === 'link' ? directory : join(directory, 'nothing'), path);
      const before = await lstat(path);
      const attempt = bindPrivately(createServer(), { backlog: 8, directory });
      await expect(attempt).rejects.toMatchObject({ code: 'LOCKED' });
      expect((await lstat(path)).ino).toBe(before.ino);
      if (what === 'socket') await new Promise((resolve) => other.close(resolve));
      await rm(directory, { recursive: true, force: true });
    },
  );

  it('refuses a directory that others can enter, and a link to one of ours', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'toolwright-'));
    const shared = join(directory, 'shared');
    await mkdir(shared, { mode: 0o755 });
    expect(() => assertPrivateDirectory(shared)).toThrow(/mode 755/);
    await symlink(directory, join(directory, 'link'));
    expect(() => assertPrivateDirectory(join(directory, 'link'))).toThrow(/is not a directory/);
    await rm(directory, { recursive: true });
  });

  it.each([
    [`/${'a'.repeat(100)}`, /101/],
    [`/${'ü'.repeat(50)}`, /101/],
    ['\0abstract', /no file permissions/],
    ['', /no file permissions/],
  ])('refuses the path %j', (path, words) => {
    expect(() => assertSocketPath(path)).toThrow(words);
    expect(() => assertSocketPath(`/${'a'.repeat(99)}`)).not.toThrow();
  });

  it('fails closed where no directory can be made', async () => {
    const listener = new ProviderListener({ directory: '/dev/null/nowhere' });
    await expect(listener.expect('calc', WELCOME)).rejects.toBeInstanceOf(ToolError);
    expect(listener.socketPath).toBeUndefined();
  });
});

describe('speaksProtocol()', () => {
  it('accepts the version of the host and the one before, from 1 on', () => {
    expect([0, 1, 2, 3, 4, '3', undefined].filter((version) => speaksProtocol(version, 3))).toEqual([2, 3]);
    expect([0, 1, 2].filter((version) => speaksProtocol(version, 1))).toEqual([1]);
  });
});
