// A hub from a configuration file, which is applied each time that it is saved.

import assert from 'node:assert/strict';
import { once, EventEmitter } from 'node:events';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { textOf } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';
import {
  approveConfig,
  assertApproved,
  followConfig,
  loadHub,
  readConfig,
  type AppliedChange,
} from '@toolwright/gateway/config';

await using project = await createTestProject({ 'a.md': 'A\n' });
await cp(fileURLToPath(new URL('.', import.meta.url)), project.projectDir, { recursive: true });
const file = `${project.projectDir}/toolwright.yaml`;
const changes = new EventEmitter();

const source = await readConfig(file);
for (const notice of source.notices) console.error(notice); // what has no effect in a file of another tool
await using loaded = loadHub(source);
await using followed = await followConfig(loaded, file, {
  onApplied: (change) => changes.emit('applied', change),
  onRefused: (error) => console.error(error.message), // the configuration before stays in force
});
const { hub } = loaded;
await hub.connect();
const note = await hub.callTool('notes.read_note', { name: 'public/plan' });
const secret = await hub.callTool('notes.read_note', { name: 'private/plan' });

assert.equal(textOf(note), 'The note public/plan.');
assert.equal(secret.error?.code, 'APPROVAL_REQUIRED');
assert.equal((await hub.callTool('notes.delete_note', { name: 'x' })).error?.code, 'PERMISSION_DENIED');
const next = once(changes, 'applied') as Promise<[AppliedChange]>;
await writeFile(file, (await readFile(file, 'utf8')).replace('  notes:', '  renamed:'));
const [change] = await next;
assert.deepEqual(change, { added: ['renamed'], removed: ['notes'], replaced: [] });
await followed.close();

process.env.XDG_STATE_HOME = `${project.projectDir}/.state`;
await assert.rejects(assertApproved(source), { code: 'APPROVAL_REQUIRED' });
await approveConfig(source);

await assertApproved(source); // APPROVAL_REQUIRED, with what the file starts
