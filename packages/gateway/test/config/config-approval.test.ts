// A configuration inside a project starts nothing before a person approved its text.

import { appendFile, mkdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ToolError } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';
import { approveConfig, assertApproved, readConfig } from '@toolwright/gateway/config';
import { describe, expect, it } from 'vitest';

const TEXT = '{"mcpServers": {"a": {"command": "evil", "args": ["--now"], "env": {"K": "canary"}}}}';

const refusal = (source: Awaited<ReturnType<typeof readConfig>>, stateDir: string): Promise<ToolError | undefined> =>
  assertApproved(source, { stateDir }).then(
    () => undefined,
    (error: unknown) => error as ToolError,
  );

describe('assertApproved()', () => {
  it('refuses a file inside its project, and says what it starts', async () => {
    await using project = await createTestProject({ 'toolwright.json': TEXT });
    await using state = await createTestProject({});
    const source = await readConfig(join(project.projectDir, 'toolwright.json'));
    const error = await refusal(source, state.projectDir);
    expect(error).toMatchObject({ code: 'APPROVAL_REQUIRED', details: { starts: ['a: evil --now'] } });
    expect(error?.message).not.toContain('canary');
  });

  it('admits the text that was approved, and no other', async () => {
    await using project = await createTestProject({ 'toolwright.json': TEXT });
    await using state = await createTestProject({});
    const { projectDir: stateDir } = state;
    const file = join(project.projectDir, 'toolwright.json');
    const source = await readConfig(file);
    await approveConfig(source, { stateDir });
    expect(await refusal(await readConfig(file), stateDir)).toBeUndefined();
    await appendFile(file, ' ');
    expect(await refusal(await readConfig(file), stateDir)).toMatchObject({ code: 'APPROVAL_REQUIRED' });
    await writeFile(file, TEXT);
    expect(await refusal(await readConfig(file), stateDir)).toBeUndefined();
    expect((await stat(join(stateDir, 'approved-configurations.json'))).mode & 0o777).toBe(0o600);
  });

  it('admits a file outside its project, but not a link to one inside', async () => {
    await using project = await createTestProject({ 'inner/toolwright.json': TEXT });
    await using outside = await createTestProject({ 'toolwright.json': TEXT });
    const options = { projectDir: project.projectDir };
    const { projectDir: stateDir } = outside;
    expect(await refusal(await readConfig(join(stateDir, 'toolwright.json'), options), stateDir)).toBeUndefined();
    await mkdir(join(stateDir, 'links'));
    const link = join(stateDir, 'links', 'toolwright.json');
    await symlink(join(project.projectDir, 'inner', 'toolwright.json'), link);
    expect(await refusal(await readConfig(link, options), stateDir)).toMatchObject({ code: 'APPROVAL_REQUIRED' });
  });

  it('refuses a file that names another project, or is a link to a file elsewhere', async () => {
    await using outside = await createTestProject({ 'toolwright.json': TEXT });
    await using project = await createTestProject({ 'sub/a.txt': '' });
    const { projectDir: stateDir } = outside;
    const file = join(project.projectDir, 'toolwright.json');
    for (const named of ['sub', '/usr', './missing', '..']) {
      await writeFile(file, JSON.stringify({ ...(JSON.parse(TEXT) as object), projectDir: named }));
      for (const options of [{}, { projectDir: project.projectDir }])
        expect(await refusal(await readConfig(file, options), stateDir)).toMatchObject({ code: 'APPROVAL_REQUIRED' });
    }
    await rm(file);
    await symlink(join(stateDir, 'toolwright.json'), file);
    expect(await refusal(await readConfig(file), stateDir)).toMatchObject({ code: 'APPROVAL_REQUIRED' });
  });

  it('shows what it permits, nothing invisible, and no value of a variable', async () => {
    const text = JSON.stringify({
      trust: 'trusted',
      policy: { default: 'allow', rules: [{ tool: 'bash', action: 'allow' }] },
      builtins: { bash: { sandbox: 'off' } },
      mcpServers: { a: { command: 'x\u001b[2K', args: ['\u202e', '${T}'], env: { NODE_OPTIONS: '${T}' } } },
    });
    await using project = await createTestProject({ 'toolwright.json': text });
    await using state = await createTestProject({});
    const source = await readConfig(join(project.projectDir, 'toolwright.json'), { env: { T: 'canary' } });
    const error = await refusal(source, state.projectDir);
    const permits = ['trust: trusted', 'builtins.bash: {"sandbox":"off"}', 'policy.default: allow'];
    expect(error?.details).toMatchObject({ permits: [...permits, 'policy: allow bash', 'a: env NODE_OPTIONS'] });
    expect(error?.details).toMatchObject({ starts: [String.raw`a: x\e[2K \u202e ${'$'}{T}`] });
    expect(error?.message).not.toMatch(/canary|\u001b|\u202e/u);
  });

  it('refuses wrong options', async () => {
    await using project = await createTestProject({ 'toolwright.json': TEXT });
    const source = await readConfig(join(project.projectDir, 'toolwright.json'));
    const wrong = { statedir: project.projectDir } as object;
    await expect(assertApproved(source, wrong)).rejects.toThrow(/unknown option `statedir`/);
    await expect(approveConfig(source, wrong)).rejects.toThrow(/unknown option `statedir`/);
    await expect(readConfig(source.file, { evn: {} } as object)).rejects.toThrow(/unknown option `evn`/);
  });

  it('approves nothing when the approvals cannot be read', async () => {
    await using project = await createTestProject({ 'toolwright.json': TEXT });
    await using state = await createTestProject({ 'approved-configurations.json': '{' });
    const source = await readConfig(join(project.projectDir, 'toolwright.json'));
    expect(await refusal(source, state.projectDir)).toMatchObject({ code: 'UNAVAILABLE' });
  });
});
