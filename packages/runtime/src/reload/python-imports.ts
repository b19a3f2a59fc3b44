// The files of a project that a Python file imports: modules in its directory, and in packages of that directory, by its
// import statements. Modules that are found by other means (sys.path, importlib) are not detected.

import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const MAX_FILES = 2_000;

/** The file and what it imports, directly or not; absolute. */
export async function pythonImports(entry: string): Promise<ReadonlySet<string>> {
  const root = dirname(entry); // Python puts the directory of the script first on its path
  const files = new Set([entry]);
  for (const file of files) {
    if (files.size > MAX_FILES) break;
    const text = await readFile(file, 'utf8').catch(() => ''); // missing or unreadable, which Python will report
    for (const { base, name } of modulesOf(text, dirname(file), root)) {
      for (const found of await filesOf(base, name)) files.add(found);
    }
  }
  return files;
}

/** Dotted names, each with the directory in which it is searched. */
function* modulesOf(text: string, here: string, root: string): Generator<{ base: string; name: string }> {
  const flat = text.replace(/\\\r?\n/g, ' ');
  for (const [, names = ''] of flat.matchAll(/^[ \t]*import[ \t]+([^\n#;]+)/gm)) {
    for (const part of names.split(',')) {
      const name = part.trim().split(/\s/)[0] ?? '';
      if (name !== '') yield { base: root, name };
    }
  }
  for (const [, dots = '', name = '', list = ''] of flat.matchAll(
    /^[ \t]*from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]+)/gm,
  )) {
    const base = dots === '' ? root : join(here, ...Array<string>(dots.length - 1).fill('..'));
    yield { base, name };
    for (const part of list
      .replace(/#[^\n]*/g, '')
      .replace(/[()]/g, '')
      .split(',')) {
      const member = part.trim().split(/\s/)[0] ?? '';
      if (/^\w+$/.test(member)) yield { base, name: name === '' ? member : `${name}.${member}` };
    }
  }
}

/** The files of a module and of the packages that contain it, as all of them run on import. */
async function filesOf(base: string, name: string): Promise<string[]> {
  const found: string[] = [];
  const parts = name.split('.').filter((part) => part !== '');
  for (let length = name === '' ? 0 : 1; length <= parts.length; length++) {
    const path = join(base, ...parts.slice(0, length));
    for (const file of [`${path}.py`, join(path, '__init__.py')]) if (await isFile(file)) found.push(file);
  }
  return found;
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false, // does not exist
  );
}
