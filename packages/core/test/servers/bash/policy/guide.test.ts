// The rules of docs/bash-policy.md do with its examples what the page says.

import { readFile } from 'node:fs/promises';
import type { PolicyRule } from '@toolwright/core';
import { expect, it } from 'vitest';
import { createAnalyzerHub, createAnalyzedProject } from './analyzed-project.js';

const GUIDE = new URL('../../../../../../docs/bash-policy.md', import.meta.url);

it('analyzeCommand() treats the examples of the guide as the guide says', async () => {
  const guide = await readFile(GUIDE, 'utf8');
  const rules = JSON.parse(/```json\n([^]*?)```/.exec(guide)?.[1] ?? '') as PolicyRule[];
  const rows = [...guide.matchAll(/^\| `([^`]+)` +\| (runs|asks|is denied)/gm)];
  expect(rows.length).toBeGreaterThanOrEqual(8);
  await using project = await createAnalyzedProject();
  await project.write('packages/core/x', '');
  const hub = createAnalyzerHub(project.projectDir, rules);
  for (const [, command = '', says = ''] of rows) {
    const expected = says === 'runs' ? 'allow' : says === 'asks' ? 'ask' : 'deny';
    expect(await hub.action(command.replaceAll('\\|', '|')), command).toBe(expected);
  }
});
