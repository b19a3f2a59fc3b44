import { link, realpath, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { locateRipgrep } from '../../../../src/servers/filesystem/search/ripgrep.js';
import { ProjectScope } from '../../../../src/servers/project/scope/project-scope.js';
import { createTestProject } from '../../../../src/testing/project.js';

describe('locateRipgrep()', () => {
  const missing = () => Promise.reject(new Error('Could not find the platform package.'));

  it('locateRipgrep() fails with UNAVAILABLE and what to install when there is none', async () => {
    await using project = await createTestProject();
    const located = locateRipgrep(new ProjectScope({ projectDir: project.projectDir }), {
      bundled: missing,
      searchPath: '',
    });
    await expect(located).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('@vscode/ripgrep') as string,
    });
  });

  it('locateRipgrep() uses one from the search path, but none of the project', async () => {
    const { rgPath } = await import('@vscode/ripgrep');
    await using project = await createTestProject({ 'elsewhere/x': '', 'proj/bin/x': '', 'linked/x': '' });
    await link(rgPath, project.resolve('elsewhere/rg')).catch(() => symlink(rgPath, project.resolve('elsewhere/rg')));
    await writeFile(project.resolve('proj/bin/rg'), '#!/bin/sh\nexit 0\n', { mode: 0o755 });
    await symlink(project.resolve('proj/bin/rg'), project.resolve('linked/rg'));
    const scope = new ProjectScope({ projectDir: project.resolve('proj') });
    const searchPath = [
      '.',
      'proj/bin',
      project.resolve('proj/bin'),
      project.resolve('linked'),
      project.resolve('elsewhere'),
    ].join(':');
    expect(await locateRipgrep(scope, { bundled: missing, searchPath })).toBe(
      await realpath(project.resolve('elsewhere/rg')),
    );
  });
});
