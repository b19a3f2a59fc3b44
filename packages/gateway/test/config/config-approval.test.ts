// A configuration inside a project starts nothing before a person approved its text.

import { appendFile, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
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

  it('approves nothing when the approvals cannot be read', async () => {
    await using project = await createTestProject({ 'toolwright.json': TEXT });
    await using state = await createTestProject({ 'approved-configurations.json': '{' });
    const source = await readConfig(join(project.projectDir, 'toolwright.json'));
    expect(await refusal(source, state.projectDir)).toMatchObject({ code: 'UNAVAILABLE' });
  });
});
