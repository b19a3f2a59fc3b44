// What a client leaves behind when it goes: its background jobs are ended, those of others run on.

import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { InProcessToolProvider, ToolHub } from '@toolwright/core';
import { createTestProject, expectNoLeaks } from '@toolwright/core/testing';
import { createGateway } from '@toolwright/gateway';
import { describe, expect, it } from 'vitest';

/** Starts a job in the background; gives its pid. */
async function startJob(client: Client, file: string): Promise<number> {
  const command = `echo $$ > ${basename(file)}.new; mv ${basename(file)}.new ${basename(file)}; exec sleep 300`;
  const { isError } = await client.callTool({ name: 'bash__execute', arguments: { command, background: true } });
  expect(isError).toBe(false);
  for (;;) {
    const said = await readFile(file, 'utf8').catch(() => '');
    if (said !== '') return Number(said);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const jobsOf = async (client: Client): Promise<{ id: string; status: string }[]> =>
  ((await client.callTool({ name: 'bash__job_list', arguments: {} })).structuredContent as never)['jobs'];

/** Resolves when no process has the pid. */
async function untilGone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe.each(['stdio', 'http'] as const)('ClientSession over %s', (transport) => {
  it("ends the client's background jobs when it disconnects, and no others", async () => {
    await using project = await createTestProject({});
    await using _ = expectNoLeaks();
    const tools = InProcessToolProvider.forProject(project.projectDir, { bash: { sandbox: 'off' } });
    await using hub = new ToolHub({ providers: [tools] });
    await using gateway = createGateway(hub);
    const http = transport === 'http' ? await gateway.serveHttp() : undefined;
    const connect = async (): Promise<[Client, () => Promise<void>]> => {
      const client = new Client({ name: 'peer', version: '1' });
      if (http) {
        const requestInit = { headers: { authorization: `Bearer ${http.token}` } };
        const link = new StreamableHTTPClientTransport(new URL(http.url), { requestInit });
        await client.connect(link);
        const leave = async (): Promise<void> => {
          await link.terminateSession();
          await client.close();
        };
        return [client, leave];
      }
      const [stdin, stdout] = [new PassThrough(), new PassThrough()];
      const { closed } = await gateway.serveStdio({ stdin, stdout });
      await client.connect(new StdioServerTransport(stdout, stdin));
      const leave = async (): Promise<void> => {
        stdin.end();
        await closed;
        await client.close();
      };
      return [client, leave];
    };
    const [leaving, leave] = await connect();
    const [staying, leaveToo] = await connect();
    const first = await startJob(leaving, join(project.projectDir, 'first'));
    const second = await startJob(staying, join(project.projectDir, 'second'));
    await leave();
    await untilGone(first);
    expect((await jobsOf(staying)).map(({ status }) => status)).toEqual(['running']);
    expect(() => process.kill(second, 0)).not.toThrow();
    await leaveToo();
    await untilGone(second);
  });
});
