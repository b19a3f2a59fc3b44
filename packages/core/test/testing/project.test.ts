import { createTestProject } from '@toolwright/core/testing';
import { expect, it } from 'vitest';

it.each(['../x', 'a/../../x', '.', ''])(
  'createTestProject() writes nothing outside when a file is named %j',
  async (name) => {
    await expect(createTestProject({ [name]: 'x' })).rejects.toMatchObject({ code: 'OUTSIDE_PROJECT' });
  },
);

it('createTestProject() creates a file whose name contains dots', async () => {
  await using project = await createTestProject({ '..x/a': 'a' });
  expect(await project.read('..x/a')).toBe('a');
});
