// A process that sends one JSON line of a given size. With a host's token in its environment it registers as a provider and
// answers a call; otherwise it sends the line as soon as it has connected to its first argument.

import { connect } from 'node:net';

const BYTES = 60_000_000;
const { TOOLWRIGHT_SOCKET, TOOLWRIGHT_TOKEN: token, TOOLWRIGHT_PROVIDER: name } = process.env;
const socket = connect(TOOLWRIGHT_SOCKET ?? process.argv[2]);
const send = (message) => socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const block = Buffer.alloc(1_000_000, 'x');

async function answer(id) {
  socket.write(`{"jsonrpc":"2.0","id":${id},"result":{"text":"`);
  for (let sent = 0; sent < BYTES; sent += block.length)
    if (!socket.write(block)) await new Promise((resolve) => socket.once('drain', resolve));
  socket.write('"}}\n');
}

socket.on('close', () => process.exit());
if (token) {
  const tools = [
    { name: 'large', description: 'Answers with a line that is too large.', inputSchema: { type: 'object' } },
  ];
  const capabilities = { state: false, initialize: false };
  const params = { protocol: 1, token, name, version: '1', description: '', tools, pid: process.pid, capabilities };
  send({ id: 'register', method: 'provider/register', params });
  let rest = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      const { id, method } = JSON.parse(line);
      if (method === 'tools/call') void answer(id);
      else if (method && id !== undefined) send({ id, result: {} });
    }
  });
} else {
  socket.once('data', () => answer(1));
}
