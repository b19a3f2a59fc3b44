// Checks the READMEs and guides: linked files exist, and every snippet is part of an example that is run.

import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { documentedSizes, sizeOf } from '../../../../tools/source-size.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const read = (path: string): Promise<string> => readFile(join(ROOT, path), 'utf8');
const GUIDES = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'examples/README.md',
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

describe('examples/README.md', () => {
  it('lists every example', async () => {
    const listed = [...(await read('examples/README.md')).matchAll(/^\| \[([\w-]+)\]/gm)].map(([, name]) => name!);
    const entries = await readdir(join(ROOT, 'examples'), { withFileTypes: true });
    expect(listed.toSorted()).toEqual(
      entries
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name)
        .toSorted(),
    );
  });
});

describe('docs/architecture.md', () => {
  it('sends readers to files and folders that exist', async () => {
    const section = /## Where to start\n([\s\S]*?)\n## /.exec(await read('docs/architecture.md'))?.[1] ?? '';
    const paths = [...section.matchAll(/`([a-z][a-z./-]*\/[a-z./-]*)`/g)].map(([, path]) => path!);
    expect(paths.length).toBeGreaterThan(5);
    for (const path of paths) {
      const place = path.startsWith('packages/') ? path : `packages/core/src/${path}`;
      await expect(access(join(ROOT, place)), path).resolves.toBeUndefined();
    }
  });

  it('counts files and lines of source to within three percent (npm run source-size counts again)', () => {
    const rows = documentedSizes();
    expect(rows.at(-1)?.label).toBe('together');
    for (const { label, files, lines } of rows) {
      const size = sizeOf(label);
      expect(Math.abs(files - size.files), label).toBeLessThanOrEqual(Math.max(1, size.files * 0.03));
      expect(Math.abs(lines - size.lines), label).toBeLessThanOrEqual(Math.max(20, size.lines * 0.03));
    }
  });

  it('defines at most 25 terms', async () => {
    const glossary = /## Glossary\n([\s\S]*)/.exec(await read('docs/architecture.md'))?.[1] ?? '';
    const terms = [...glossary.matchAll(/^\| (?!term|-)/gm)];
    expect(terms.length).toBeGreaterThan(0);
    expect(terms.length).toBeLessThanOrEqual(25);
  });

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

describe.each(['core', 'runtime', 'gateway'])('package entries of %s', (name) => {
  it('open with what they are for and an example that is run', async () => {
    const { exports, toolwright } = JSON.parse(await read(`packages/${name}/package.json`)) as {
      exports: Record<string, { default?: string }>;
      toolwright: { entries: Record<string, string> };
    };
    const published = Object.values(exports).map((entry) => entry.default);
    const sources = Object.entries(toolwright.entries).filter(([entry]) => published.includes(`./dist/${entry}.js`));
    expect(sources.length).toBeGreaterThan(1);
    for (const [, path] of sources) {
      const comment = /^\/\*\*\n([\s\S]*?) \* @module\n \*\//.exec(await read(`packages/${name}/${path}`))?.[1];
      expect(comment, path).toContain(' * @example\n * ```ts\n');
      await expectRunCode(comment!.replace(/^ \* ?/gm, ''));
    }
  });
});

describe.each(GUIDES)('%s', (guide) => {
  it('shows only code that an example runs', async () => expectRunCode(await read(guide)));

  it('links to files and headings that exist', async () => {
    const text = await read(guide);
    for (const [, target, anchor] of text.matchAll(/\]\((?!https?:|mailto:)([^)#]*)(?:#([^)]*))?\)/g)) {
      const path = target === '' ? guide : join(dirname(guide), target!);
      await expect(access(join(ROOT, path)), target).resolves.toBeUndefined();
      if (anchor !== undefined) expect(headings(await read(path)), `${path}#${anchor}`).toContain(anchor);
    }
  });
});

/** Fails when the text has a snippet that is not part of an example. */
async function expectRunCode(text: string): Promise<void> {
  const files = await readdir(join(ROOT, 'examples'), { recursive: true });
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
}

function withoutIndent(code: string): string {
  return code
    .split('\n')
    .map((line) => line.trim())
    .join('\n');
}

/** The anchors of a page, made as GitHub makes them. */
function headings(markdown: string): string[] {
  return [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
