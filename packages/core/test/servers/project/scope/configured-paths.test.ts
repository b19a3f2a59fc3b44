// Where git's configuration leads inside the project, nothing is written: not in submodules either, and not through links.

import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { createTestProject } from '../../../../src/testing/project.js';
import { commonDirOf, gitDirOf } from '../../../../src/servers/project/scope/configured-paths.js';
import { ProjectScope } from '../../../../src/servers/project/scope/project-scope.js';
import { gitIn, GIT_IS_MISSING, openTools, type Tools } from '../../git/git-tools.js';

/** A repository with a submodule `sub`, which has its data in the repository's, and a repository `own`. */
async function openRepositories(): Promise<Tools> {
  const tools = await openTools({ 'a.txt': 'a\n', 'tools/hooks/pre-commit': 'x', 'tools/pre': 'x' });
  await gitIn(tools.world.projectDir, {}, ['init', '-q', 'library']);
  const ident = ['-c', 'user.name=T', '-c', 'user.email=t@e.x'];
  await gitIn(tools.world.resolve('library'), {}, [...ident, 'commit', '-q', '--allow-empty', '-m', 'One']);
  await tools.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', '../library', 'sub');
  await tools.git('init', '-q', 'own');
  return tools;
}

async function link(tools: Tools, path: string, target: string): Promise<void> {
  await mkdir(dirname(tools.path(path)), { recursive: true });
  await symlink(target, tools.path(path));
}

it.skipIf(GIT_IS_MISSING).each<[what: string, make: (tools: Tools) => Promise<unknown>, path: string]>([
  [
    'a directory of hooks that is a link',
    async (tools) => {
      await link(tools, '.husky', 'tools/hooks');
      await tools.git('config', 'core.hooksPath', '.husky');
    },
    'tools/hooks/pre-commit',
  ],
  [
    'a hook that is a link',
    async (tools) => {
      await link(tools, '.husky/pre-commit', '../tools/pre');
      await tools.git('config', 'core.hooksPath', '.husky');
    },
    'tools/pre',
  ],
  ['a hook of .git that is a link', (tools) => link(tools, '.git/hooks/pre-commit', '../../tools/pre'), 'tools/pre'],
  [
    'hooks of a submodule',
    (tools) => tools.git('-C', 'sub', 'config', 'core.hooksPath', '.husky'),
    'sub/.husky/pre-commit',
  ],
  [
    'a file that the configuration of a submodule includes',
    (tools) => tools.git('-C', 'sub', 'config', 'include.path', '../../../conf'),
    'conf',
  ],
  [
    'a hook of a submodule that is a link',
    (tools) => link(tools, '.git/modules/sub/hooks/pre-commit', '../../../../tools/pre'),
    'tools/pre',
  ],
  [
    'hooks of a repository in the project',
    (tools) => tools.git('-C', 'own', 'config', 'core.hooksPath', '.husky'),
    'own/.husky/pre-commit',
  ],
])('ProjectScope protects %s', async (_what, make, path) => {
  await using tools = await openRepositories();
  const scope = new ProjectScope({ projectDir: tools.projectDir });
  const isProtected = (name: string): boolean => scope.isProtected(scope.parse(name));
  expect(isProtected(path)).toBe(false);
  await make(tools);
  expect(isProtected(path)).toBe(true);
  expect(isProtected('a.txt')).toBe(false);
  expect(isProtected('sub/a.txt')).toBe(false);
  const opened = new ProjectScope({ projectDir: tools.projectDir, allowProtected: [path] });
  expect(opened.isProtected(opened.parse(path))).toBe(false);
});

it('commonDirOf() and gitDirOf() read no file outside through a link', async () => {
  await using world = await createTestProject({ 'outside/secret': 'secret\n', 'outside/git': 'gitdir: secret\n' });
  const gitDir = world.resolve('project/.git');
  await mkdir(gitDir, { recursive: true });
  await symlink(world.resolve('outside/secret'), world.resolve('project/.git/commondir'));
  expect(commonDirOf(gitDir)).toBe(gitDir);
  await symlink(world.resolve('outside/git'), world.resolve('project/sub'));
  expect(gitDirOf(world.resolve('project/sub'))).not.toContain('secret');
  await writeFile(world.resolve('project/inside'), '../shared\n');
  await rm(world.resolve('project/.git/commondir'));
  await symlink('../inside', world.resolve('project/.git/commondir')); // git follows it, so that it counts
  expect(commonDirOf(gitDir)).toBe(world.resolve('project/shared'));
});
