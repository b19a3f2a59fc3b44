// Convenience: at most one everyday command line in ten asks although a rule allows it.

import { expect, it } from 'vitest';
import { EVERYDAY, SENSIBLE_RULES } from './everyday-commands.js';
import { allowing, createAnalyzerHub, createAnalyzedProject } from './analyzed-project.js';

it('analyzeCommand() understands at least nine tenths of everyday commands', async () => {
  await using project = await createAnalyzedProject({ git: true });
  const hub = createAnalyzerHub(project.projectDir, allowing(...SENSIBLE_RULES));
  expect(new Set(EVERYDAY).size).toBeGreaterThanOrEqual(200);
  const asked: string[] = [];
  for (const command of EVERYDAY) if ((await hub.action(command)) !== 'allow') asked.push(command);
  console.log(`${asked.length} of ${EVERYDAY.length} everyday commands ask:\n${asked.join('\n')}`);
  expect(asked.length / EVERYDAY.length).toBeLessThanOrEqual(0.1);
});
