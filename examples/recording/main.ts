// Recording and replay: a run of the demo is recorded on a real project and repeated, byte for byte, when the project is gone. Then
// an engine's own test, with faults.

import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Progress } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';
import { runAgent, type Tools } from '../demo/agent.js';
import { createDemoHub } from '../demo/demo-hub.js';
import { showMemory } from '../demo/memory.js';
import { copyProject } from '../demo/project-copy.js';
import { scriptedModel } from '../demo/scripted-model.js';
import { Screen } from '../demo/screen.js';

await using temporary = await createTestProject();
process.chdir(temporary.projectDir);

/** The engine under test: the demo's agent. Returns everything that it received, but for durations. */
async function runEngine(provider: ToolProvider): Promise<string[]> {
  const received: string[] = [];
  await using hub = createDemoHub(provider, () => ({ decision: 'once' }));
  const tools: Tools = {
    listTools: async () => {
      const listed = await hub.listTools();
      received.push(JSON.stringify(listed));
      return listed;
    },
    callTool: async (name, args, options) => {
      const progress: Progress[] = [];
      const result = await hub.callTool(name, args, { ...options, onProgress: (step) => progress.push(step) });
      const { durationMs: _measured, ...rest } = result;
      received.push(JSON.stringify([name, args, progress, rest]));
      return result;
    },
  };
  const screen = new Screen(new PassThrough().resume());
  const { answer, finished } = await runAgent(tools, scriptedModel(), {
    screen,
    check: { compare: async () => undefined },
  });
  assert.ok(finished, answer);
  assert.deepEqual(await showMemory(screen, tools), []);
  return [...received, answer];
}

const project = await copyProject(fileURLToPath(new URL('../..', import.meta.url)));

// #region replay
import { InProcessToolProvider, textOf, ToolHub, type ToolProvider } from '@toolwright/core';
import { chaos, record, ReplayToolProvider } from '@toolwright/core/testing';

const live = InProcessToolProvider.forProject(project.projectDir, { bash: { sandbox: 'auto' } });
const recorded = await runEngine(record(live, 'run.ndjson'));
await project[Symbol.asyncDispose](); // from here on there is no project

const replay = new ReplayToolProvider('run.ndjson');
assert.deepEqual(await runEngine(replay), recorded); // byte for byte
assert.deepEqual(replay.unused, []); // every recorded call was made
// #endregion

// #region difference
const changed = new ReplayToolProvider('run.ndjson');
const result = await changed.callTool('filesystem.list_directory', { path: 'src' });
assert.equal(result.error?.code, 'NO_MATCH');
assert.match(textOf(result), /- path: recorded "\.", called with "src"/);
// #endregion

// #region chaos
const flaky = chaos(
  new ReplayToolProvider('run.ndjson', { strict: false }),
  { fail: 0.2, hang: 0.1, crash: 0.1 },
  { seed: 7 },
);
await using hub = new ToolHub({ providers: [flaky], limits: { callTimeoutMs: 200 } });
for (let call = 0; call < 20; call++) {
  const { error } = await hub.callTool('filesystem.list_directory', { path: '.' });
  console.log(error?.code ?? 'ok'); // the same 20 outcomes with every run
}
// #endregion

// #region middleware
import { withRecording } from '@toolwright/core';

const recording = withRecording({ file: 'session.ndjson', exclude: ['memory'] });
await using recordedHub = new ToolHub({ providers: [new ReplayToolProvider('run.ndjson')], middleware: [recording] });
recording.recordTools(await recordedHub.listTools());
await recordedHub.callTool('filesystem.list_directory', { path: '.' });
await recording.flush();
// #endregion

const again = await new ReplayToolProvider('session.ndjson').callTool('filesystem.list_directory', { path: '.' });
assert.equal(again.isError, false);
console.log(`${recorded.length} results replayed`);
