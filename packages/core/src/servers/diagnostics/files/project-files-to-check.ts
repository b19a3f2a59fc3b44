// Which files of a directory are checked by default: the project's sources, without generated files.

import { relative, sep } from 'node:path';
import type { ProjectFiles } from '../../project/project-files.js';
import { isInside } from '../../project/scope/project-scope.js';
import type { TreeSnapshot } from './source-tree.js';

/** All files below a directory, sorted, without directories listed by plain name in the project's .gitignore. */
export async function filesToCheck(
  files: ProjectFiles,
  directory: string,
  { stamps }: TreeSnapshot,
): Promise<string[]> {
  const { projectDir } = files.scope;
  const ignored = await ignoredDirectories(files);
  const isIgnored = (absolute: string): boolean => {
    // The requested directory is searched even if it is ignored.
    const names = relative(isInside(projectDir, directory) ? directory : absolute, absolute).split(sep);
    const below = relative(projectDir, directory).split(sep).join('/');
    return names.slice(0, -1).some((name, index) => {
      const path = [...(below === '' ? [] : [below]), ...names.slice(0, index + 1)].join('/');
      return ignored.has(name) || ignored.has(`/${path}`);
    });
  };
  return [...stamps.keys()].filter((absolute) => isInside(directory, absolute) && !isIgnored(absolute)).sort();
}

/** Plain names, and paths with a leading `/`. Patterns and exceptions are not supported. */
async function ignoredDirectories(files: ProjectFiles): Promise<ReadonlySet<string>> {
  const content = await files.read('.gitignore').catch(() => undefined); // missing or unreadable
  const found = new Set<string>();
  for (const line of content?.bytes.toString('utf8').split('\n') ?? []) {
    const [, anchor, name] = /^(\/?)([\w.-]+(?:\/[\w.-]+)*)\/?\s*$/.exec(line) ?? [];
    if (name !== undefined) found.add(anchor === '/' || name.includes('/') ? `/${name}` : name);
  }
  return found;
}
