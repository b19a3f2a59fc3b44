// npm run examples: runs the main.ts or main.mjs of every example as a user would. Exits non-zero when one of them does.

import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { spawnChild } from '@toolwright/core/process';

const here = fileURLToPath(new URL('.', import.meta.url));
const names = (await readdir(here, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);
let failures = 0;
for (const name of names.toSorted()) {
  const plain = `${here}${name}/main.mjs`; // run by Node alone, against the built packages
  const program = existsSync(plain) ? [plain] : ['--import', 'tsx', `${here}${name}/main.ts`];
  const args = [...program, ...(name === 'demo' ? ['--yes'] : [])];
  const child = spawnChild({
    command: process.execPath,
    args,
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    stdin: 'ignore',
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const { code, signal } = await child.exited;
  console.log(`${code === 0 ? 'ok  ' : 'FAIL'} ${name}`);
  if (code !== 0) {
    failures++;
    console.log(`${output}\n${child.stderrTail()}\nended with ${code ?? signal}`);
  }
}
console.log(`${names.length - failures} passed, ${failures} failed`);
process.exitCode = failures === 0 ? 0 : 1;
