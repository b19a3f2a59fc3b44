// Checks the READMEs and guides: linked files exist, and every snippet is part of an example that is run.

import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const read = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');
const GUIDES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...['core', 'runtime', 'gateway'].map((name) => `packages/${name}/README.md`),
  ...(await readdir(join(ROOT, 'docs'))).filter((file) => file.endsWith('.md')).map((file) => `docs/${file}`),
];

describe('README.md', () => {
  it('shows code within 15 lines', async () => {
    const lines = (await read('README.md')).split('\n');
    expect(lines.slice(0, 15).some((line) => line.startsWith('```ts'))).toBe(true);
  });

  it('lists the commands "npm run demo" and "npm test", which exist', async () => {
    const readme = await read('README.md');
    const { scripts } = JSON.parse(await read('package.json')) as { scripts: Record<string, string> };
    for (const script of ['demo', 'test']) expect(scripts[script]).toBeDefined();
    expect(readme).toContain('npm install && npm run demo');
    expect(readme).toContain('npm install && npm test');
  });
});

describe('docs/architecture.md', () => {
  it.each(['packages/core/src', 'packages/runtime', 'packages/gateway'])(
    'has one row for each folder of %s, and none for another',
    async (place) => {
      const section =
        new RegExp(`### ${place}\\n([\\s\\S]*?)\\n##`).exec(await read('docs/architecture.md'))?.[1] ?? '';
      const rows = [...section.matchAll(/^\| `([^`]+)\/` +\|/gm)].map(([, folder]) => folder!);
      const files = await readdir(join(ROOT, place), { recursive: true, withFileTypes: true });
      const sources = files.filter(
        (file) =>
          file.isFile() &&
          /\.(ts|mts|mjs|py)$/.test(file.name) &&
          !/\/(dist|test|node_modules|__pycache__)\b/.test(file.parentPath),
      );
      const folders = new Set(sources.map(({ parentPath }) => relative(join(ROOT, place), parentPath)));
      folders.delete('');
      expect(rows.toSorted()).toEqual([...folders].toSorted());
    },
  );
});

describe.each(GUIDES)('%s', (guide) => {
  it('shows only code that an example runs', async () => {
    const files = await readdir(join(ROOT, 'examples'), { recursive: true });
    const text = await read(guide);
    for (const language of ['ts', 'js', 'python']) {
      const extension = { ts: /\.ts$/, js: /\.mjs$/, python: /\.py$/ }[language]!;
      const examples = await Promise.all(
        files.filter((file) => extension.test(file)).map((file) => read(`examples/${file}`)),
      );
      const flat = examples.map(withoutIndent);
      for (const [, code] of text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))) {
        expect(
          flat.some((example) => example.includes(withoutIndent(code!).trim())),
          code,
        ).toBe(true);
      }
    }
  });

  it('links to files that exist', async () => {
    for (const [, target] of (await read(guide)).matchAll(/\]\((?!https?:|#|mailto:)([^)#]+)[^)]*\)/g)) {
      await expect(access(join(ROOT, dirname(guide), target!)), target).resolves.toBeUndefined();
    }
  });
});

function withoutIndent(code: string): string {
  return code
    .split('\n')
    .map((line) => line.trim())
    .join('\n');
}
