// The demo: a small agent engine works on a copy of a real project through one hub, and every result is compared with the
// disk.
//   npm run demo [-- DIR] [--yes]

import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { InProcessToolProvider, ToolError } from '@toolwright/core';
import { runAgent } from './agent.js';
import { askOnTerminal, approveWithNotice } from './approval.js';
import { createDemoHub } from './demo-hub.js';
import { DiskCheck } from './disk-check.js';
import { showMemory } from './memory.js';
import { showProcesses } from './processes.js';
import { copyProject } from './project-copy.js';
import { Screen } from './screen.js';
import { scriptedModel } from './scripted-model.js';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { yes: { type: 'boolean', default: false } },
});
const source = resolve(positionals[0] ?? '.');
const screen = new Screen(process.stdout);

try {
  process.exitCode = await main();
} catch (error) {
  screen.failed(ToolError.from(error));
  process.exitCode = 1;
}

async function main(): Promise<number> {
  await using project = await copyProject(source);
  screen.title('Toolwright demo');
  screen.note('The model is scripted: it decides by the results of the tools, and uses no network.');
  screen.note(
    `Project: a copy of ${source} (${project.files} files, ${Math.ceil(project.bytes / 1024)} KiB). The original is not touched.`,
  );
  if (project.leftOut > 0) screen.note(`${project.leftOut} files were left out: the copy is limited to 50 MB.`);

  const interactive = process.stdin.isTTY && process.stdout.isTTY && !values.yes;
  await using hub = createDemoHub(
    // Without bubblewrap, the demo's command runs without a sandbox, and its result says so.
    InProcessToolProvider.forProject(project.projectDir, { name: 'project', bash: { sandbox: 'auto' } }),
    interactive
      ? (request, { signal }) => askOnTerminal(screen, request, signal)
      : (request) => approveWithNotice(screen, request),
    ({ decision, by }) => screen.decision(decision, by),
  );

  const check = new DiskCheck(project.projectDir);
  const summary = await runAgent(hub, scriptedModel(), { screen, check });
  const faults = [...(await showMemory(screen, hub)), ...(await showProcesses(screen))];
  screen.summary(summary, hub.status(), [...check.differences, ...faults]);
  return check.differences.length === 0 && faults.length === 0 && summary.finished ? 0 : 1;
}
