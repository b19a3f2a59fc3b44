// The name of a project: from its package.json, else from its git remote, else from its directory.

import { basename } from 'node:path';
import type { ProjectFiles } from '../project/project-files.js';

const MAX_NAME_CHARS = 200;

/** Never rejects: files that cannot be read are skipped. */
export async function projectName(files: ProjectFiles): Promise<string> {
  const name =
    (await nameIn(files, 'package.json', packageName)) ??
    (await nameIn(files, '.git/config', remoteName)) ??
    basename(files.scope.projectDir);
  return name.slice(0, MAX_NAME_CHARS);
}

async function nameIn(
  files: ProjectFiles,
  path: string,
  parse: (text: string) => string | undefined,
): Promise<string | undefined> {
  try {
    return parse((await files.read(path)).bytes.toString('utf8'));
  } catch {
    return undefined; // missing, unreadable or outside the project: the next source is used
  }
}

function packageName(text: string): string | undefined {
  const { name } = JSON.parse(text) as { name?: unknown };
  return typeof name === 'string' && name.trim() !== '' ? name.trim() : undefined;
}

/** The last path segment of the URL of `origin`, else of the first remote; the rest of the URL may contain a password. */
function remoteName(text: string): string | undefined {
  const remotes = [...text.matchAll(/^\[remote "([^"\n]{1,200})"\]((?:\n(?!\[).*)*)/gm)].map((match) => ({
    remote: match[1],
    url: /^\s*url\s*=\s*(.+?)\s*$/m.exec(match[2] ?? '')?.[1],
  }));
  const { url } = remotes.find(({ remote }) => remote === 'origin') ?? remotes[0] ?? {};
  const name = url
    ?.replace(/[?#].*$/, '')
    .replace(/\/+$/, '')
    .split(/[/:\\]/)
    .at(-1)
    ?.replace(/\.git$/, '');
  return name === '' || name?.includes('@') ? undefined : name;
}
