// A provider that is edited while it is called: the new version takes over its state and its calls, and a version that
// fails to start only raises an event.

import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const projectDir = await mkdtemp(join(here, 'project-')); // the files are edited below
for (const file of ['game.ts', 'scores.ts']) await cp(join(here, file), join(projectDir, file));
const save = (text: string): Promise<void> => writeFile(join(projectDir, 'scores.ts'), text);

// #region example
import { InProcessToolProvider, ToolHub } from '@toolwright/core';
import { createRegistryServer, superviseProcess } from '@toolwright/runtime';

const game = superviseProcess({
  name: 'game',
  path: 'game.ts',
  cwd: projectDir,
  runtime: 'tsx', // Node 22.18 and later would run the file itself, and require imports to end in .ts
  watch: true,
  config: { bonus: 1 },
});
game.on('reloaded', ({ generation }) => console.log(`the game is now generation ${generation}`));
game.on('reloadFailed', ({ file, line, message }) => console.log(`${file}:${line}: ${message}`));

await using hub = new ToolHub({ providers: [game] });
await hub.add(new InProcessToolProvider({ name: 'operator', servers: [createRegistryServer(hub)] }));
const first = await hub.callTool('game.play', { player: 'ada', word: 'loom' });
// #endregion
assert.deepEqual(first.structuredContent, { player: 'ada', points: 5 });

const event = (name: 'reloaded' | 'reloadFailed'): Promise<void> =>
  new Promise((resolve) => game.on(name, () => resolve()));

let raised = event('reloaded');
await save('export const pointsOf = (word: string): number => 10 * word.length;\n');
await raised;
const second = await hub.callTool('game.play', { player: 'ada', word: 'loom' });
assert.deepEqual(second.structuredContent, { player: 'ada', points: 46 }); // 5 from before, 40, and a bonus of 1

raised = event('reloadFailed');
await save('export const pointsOf = (word: string): number =>;\n');
await raised;
const third = await hub.callTool('game.play', { player: 'ada', word: 'a' });
assert.deepEqual(third.structuredContent, { player: 'ada', points: 57 });

// #region config
const done = await game.setConfig({ bonus: 100 }); // 'reinitialize': shouldRestart() checks only the language
// #endregion
assert.equal(done, 'reinitialize');
const fourth = await hub.callTool('game.play', { player: 'ada', word: 'a' });
assert.deepEqual(fourth.structuredContent, { player: 'ada', points: 167 });

const health = await hub.callTool('registry.health', { provider: 'game' });
assert.deepEqual(health.structuredContent?.providers, [{ name: 'game', ...game.health() }]);

// #region supervise
import { MCPToolProvider } from '@toolwright/core/mcp';
import { supervise } from '@toolwright/runtime';

const files = supervise(
  () => new MCPToolProvider({ name: 'files', command: 'mcp-server-filesystem', args: [projectDir] }),
  {
    idleTtlMs: 60_000,
    maxConcurrent: 4,
  },
);
files.on('stateChanged', ({ from, to, error }) => console.log(`files: ${from} -> ${to} ${error?.message ?? ''}`));
const answer = await files.callTool('files.list_directory', { path: projectDir });
// #endregion
assert.equal(answer.error?.code ?? 'ran', files.state === 'DEAD' ? 'SPAWN_FAILED' : 'ran'); // if the server is not installed

await files.disconnect();
await hub.disconnect();
await rm(projectDir, { recursive: true, force: true });
console.log('one game, edited twice, and no point lost');
