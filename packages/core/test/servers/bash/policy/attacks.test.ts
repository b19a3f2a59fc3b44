// No form that runs, writes or reads outside is allowed by rules for readers; and a real bash does what each form claims.

import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ATTACKS } from './attack-forms.js';
import { allowing, createAnalyzerHub, createAnalyzedProject, runBash, type AnalyzerHub } from './analyzed-project.js';

const NARROW = allowing('git status', 'ls', 'cat', 'git log', 'head');
/** Wider than sensible: every reader, every wrapper, and some programs. */
const WIDE = allowing(
  ...['git status', 'git log', 'git diff', 'git show', 'git branch', 'git blame', 'git grep', 'git ls-files', 'git rev-parse', 'git tag', 'git reflog', 'git remote', 'git z'],
  ...['ls', 'cat', 'head', 'tail', 'wc', 'grep', 'rg', 'find', 'sort', 'uniq', 'sed', 'awk', 'gawk', 'cut', 'diff', 'xxd', 'tree', 'file', 'jq', 'date', 'base64', 'shuf', 'tee', 'du', 'ln',
    'tar', 'test', '[', 'printf', 'echo', 'true', 'false', ':', 'cd'],
  ...['env', 'timeout', 'nice', 'nohup', 'time', 'stdbuf', 'setsid', 'xargs', 'flock', 'bash -c', 'sh -c', 'command -v', 'npm test', 'make', 'node x.js', 'node --version'],
); // prettier-ignore

const FORMS = ATTACKS.flatMap(({ family, runs, others }) =>
  [...runs, ...others].map((form) => [family, form] as const),
);

describe('analyzeCommand()', () => {
  let project: Awaited<ReturnType<typeof createAnalyzedProject>>;
  let narrow: AnalyzerHub;
  let wide: AnalyzerHub;
  beforeAll(async () => {
    project = await createAnalyzedProject();
    narrow = createAnalyzerHub(project.projectDir, NARROW);
    wide = createAnalyzerHub(project.projectDir, WIDE);
  });
  afterAll(() => project[Symbol.asyncDispose]());

  it('is tested with at least 150 forms', () => {
    expect(new Set(FORMS.map(([, form]) => form)).size).toBeGreaterThan(150);
    console.log(`${FORMS.length} attack forms`);
  });

  it.each(ATTACKS.map(({ family }) => family))(
    'matches no rule, narrow or wide, that would allow a form of %s',
    async (family) => {
      const allowed: string[] = [];
      for (const [, form] of FORMS.filter(([each]) => each === family)) {
        if ((await narrow.action(form)) !== 'ask') allowed.push(`narrow: ${form}`);
        if ((await wide.action(form)) !== 'ask') allowed.push(`wide: ${form}`);
      }
      expect(allowed).toEqual([]);
    },
  );

  it('resolves every path against the directory of the call', async () => {
    for (const cwd of ['..', '/', '/etc', 'out', '~', 'nothing', ''])
      expect(await wide.action('ls', cwd), cwd).toBe('ask');
    expect(await wide.action('ls', 'src')).toBe('allow');
    expect(await wide.action('ls ..', 'src')).toBe('allow');
    expect(await wide.action('ls ..', '.')).toBe('ask');
    expect(await wide.action('cat ../../x', 'src')).toBe('ask');
  });
});

describe('analyzeCommand() attack forms that run', () => {
  it.each(ATTACKS.filter(({ runs }) => runs.length > 0))(
    'creates the canary in a real bash with each form of $family',
    async ({ runs }) => {
      await using project = await createAnalyzedProject({ git: true });
      const dead: string[] = [];
      for (const form of runs) {
        await runBash(form, project.projectDir);
        if (!existsSync(project.resolve('canary'))) dead.push(form);
        await rm(project.resolve('canary'), { force: true });
      }
      expect(dead).toEqual([]);
    },
    60_000,
  );
});
