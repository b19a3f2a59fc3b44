// The floor of a process on a socket: it returns each JSON line as the response and checks nothing.

import { connect } from 'node:net';

const socket = connect(process.argv[2]);
let rest = '';
socket.setEncoding('utf8');
socket.on('data', (chunk) => {
  const lines = (rest + chunk).split('\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, params } = JSON.parse(line);
    socket.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: params })}\n`);
  }
});
socket.on('close', () => process.exit());
