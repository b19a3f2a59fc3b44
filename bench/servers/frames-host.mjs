// A host that reads one line of 60 MB from each of several processes at the same time, and prints its peak memory in bytes:
// as calls of providers, or (`bare`) from sockets whose data is dropped.

import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spawnChild } from '@toolwright/core/process';
import { ProcessToolProvider } from '@toolwright/runtime';

const [mode, count, directory] = process.argv.slice(2);
const sender = fileURLToPath(new URL('frames-sender.mjs', import.meta.url));
const each = Array.from({ length: Number(count) });
const peakBytes = () => process.resourceUsage().maxRSS * 1_024;

async function readBare() {
  const path = join(directory, 's');
  const server = createServer().listen(path);
  await once(server, 'listening');
  const sockets = [];
  const children = [];
  for (const _ of each) {
    children.push(spawnChild({ command: process.execPath, args: [sender, path], cwd: directory, stdin: 'ignore' }));
    sockets.push((await once(server, 'connection'))[0]);
  }
  const before = peakBytes();
  const read = sockets.map(
    (socket) => new Promise((resolve) => socket.on('data', (chunk) => chunk.at(-1) === 0x0a && resolve()).write('go')),
  );
  await Promise.all(read);
  const after = peakBytes();
  for (const socket of sockets) socket.destroy();
  await Promise.all(children.map((child) => child.end()));
  server.close();
  return after - before;
}

async function readAsHost() {
  const providers = each.map((_, n) => new ProcessToolProvider({ name: `p${n}`, path: sender }));
  await Promise.all(providers.map((provider) => provider.connect()));
  const before = peakBytes();
  const results = await Promise.all(providers.map((provider, n) => provider.callTool(`p${n}.large`)));
  const after = peakBytes();
  for (const { error } of results)
    if (error?.code !== 'FRAME_TOO_LARGE') throw new Error(`The call ended with ${error?.code}: ${error?.message}`);
  await Promise.all(providers.map((provider) => provider.disconnect()));
  return after - before;
}

console.log(await (mode === 'bare' ? readBare() : readAsHost()));
