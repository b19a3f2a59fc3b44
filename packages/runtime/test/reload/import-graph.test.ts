// Which files a provider is made of.

import { relative } from 'node:path';
import { createTestProject } from '@toolwright/core/testing';
import { expect, it } from 'vitest';
import { readImportGraph } from '../../src/reload/import-graph.js';
import { placeFault } from '../../src/reload/source-place.js';

async function graphOf(entry: string, files: Record<string, string>) {
  const project = await createTestProject(files);
  await using _ = project;
  const { files: found, fault } = await readImportGraph(`${project.projectDir}/${entry}`);
  const name = (path: string): string => relative(project.projectDir, path);
  return {
    files: [...found].map(name).toSorted(),
    ...(fault && { fault: { ...fault, ...(fault.file !== undefined && { file: name(fault.file) }) } }),
  };
}

it('readImportGraph() follows relative imports of TypeScript, and no packages', async () => {
  const graph = await graphOf('src/main.ts', {
    'src/main.ts': `import { z } from 'zod';\nimport { a } from './a.js';\nimport words from '../words.txt';\nconsole.log(z, a, words);`,
    'src/a.ts': `import data from './data.json' with { type: 'json' };\nexport const a = data;\nexport const later = () => import('../lib/b.js');`,
    'src/data.json': '{}',
    'lib/b.ts': `export const b = 1;`,
    'words.txt': 'words',
    'src/unused.ts': 'export {}',
  });
  expect(graph).toEqual({ files: ['lib/b.ts', 'src/a.ts', 'src/data.json', 'src/main.ts', 'words.txt'] });
});

it('readImportGraph() reports the file and the line of a syntax error', async () => {
  const graph = await graphOf('main.ts', { 'main.ts': `import './bad.js';`, 'bad.ts': 'const a = 1;\n\nconst = 2;\n' });
  expect(graph.fault).toEqual({ file: 'bad.ts', line: 3, message: expect.stringContaining('Expected identifier') });
  expect(graph.files).toEqual(['bad.ts', 'main.ts']);
});

it('readImportGraph() watches for a module that is missing', async () => {
  const { fault, files } = await graphOf('main.ts', { 'main.ts': `\nimport './gone.js';` });
  expect(fault).toMatchObject({ file: 'main.ts', line: 2, message: expect.stringContaining('./gone.js') });
  expect(files).toEqual(expect.arrayContaining(['main.ts', 'gone.ts', 'gone.js']));
});

it('readImportGraph() follows the import statements of Python within the project', async () => {
  const graph = await graphOf('provider.py', {
    'provider.py': `import os, helpers\nfrom pkg import (\n  one,  # the first\n  two as other,\n)\nfrom pkg.sub.deep import thing\nif True:\n    from late import x\nimport missing.module\n`,
    'helpers.py': 'from toolwright_provider import tool\n',
    'pkg/__init__.py': 'from . import three\nfrom .four import *\n',
    'pkg/one.py': '',
    'pkg/two.py': 'from ..helpers import y\n',
    'pkg/three.py': '',
    'pkg/four.py': '',
    'pkg/sub/__init__.py': '',
    'pkg/sub/deep.py': '',
    'late.py': '',
    'unused.py': '',
  });
  expect(graph.files).toEqual([
    'helpers.py',
    'late.py',
    'pkg/__init__.py',
    'pkg/four.py',
    'pkg/one.py',
    'pkg/sub/__init__.py',
    'pkg/sub/deep.py',
    'pkg/three.py',
    'pkg/two.py',
    'provider.py',
  ]);
});

it('placeFault() finds the line of a failure in what Python and Node write', () => {
  const files = new Set(['/p/provider.py', '/p/deep.mjs']);
  const python =
    'Traceback (most recent call last):\n  File "/usr/lib/x.py", line 9\n  File "/p/provider.py", line 3, in <module>\nKeyError';
  expect(placeFault('no', python, files)).toEqual({ file: '/p/provider.py', line: 3, message: 'no' });
  const node = 'file:///p/deep.mjs:12\nthrow new Error();\n    at file:///p/deep.mjs:12:7\n';
  expect(placeFault('no', node, files)).toEqual({ file: '/p/deep.mjs', line: 12, message: 'no' });
  expect(placeFault('no', 'nothing', files)).toEqual({ message: 'no' });
});
