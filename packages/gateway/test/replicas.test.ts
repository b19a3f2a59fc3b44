// Replicas share a key, and refuse what only one process can serve.

import { randomBytes } from 'node:crypto';
import { InProcessToolProvider, ToolHub } from '@toolwright/core';
import { contractServer, createTestProject } from '@toolwright/core/testing';
import { createGateway } from '@toolwright/gateway';
import { supervise } from '@toolwright/runtime';
import { describe, expect, it } from 'vitest';

describe('createGateway({ replicas: true })', () => {
  it('requires a key', () => {
    const provider = new InProcessToolProvider({ servers: [contractServer()] });
    expect(() => createGateway(provider, { replicas: true })).toThrowError(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('stateKey') as string }),
    );
  });

  it('refuses servers that keep state per session, and names them', async () => {
    await using project = await createTestProject({});
    const own = InProcessToolProvider.forProject(project.projectDir, { bash: { sandbox: 'off' } });
    await using hub = new ToolHub({ providers: [supervise(() => own)] });
    await using gateway = createGateway(hub, { replicas: true, stateKey: randomBytes(32) });
    await expect(gateway.serveHttp()).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/filesystem.*bash|bash.*filesystem/) as string,
    });
    await using single = createGateway(hub);
    expect((await single.serveHttp()).url).toContain('http://');
  });

  it('serves everything else', async () => {
    await using hub = new ToolHub({ providers: [new InProcessToolProvider({ servers: [contractServer()] })] });
    await using gateway = createGateway(hub, { replicas: true, stateKey: randomBytes(32).toString('base64') });
    expect((await gateway.serveHttp()).url).toContain('http://');
  });
});
