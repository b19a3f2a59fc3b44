// The example of @toolwright/gateway/config in the API reference.

import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { createTestProject } from '@toolwright/core/testing';

await using project = await createTestProject({});
const { projectDir } = project;
await writeFile(`${projectDir}/toolwright.yaml`, 'builtins: { bash: false }\n');

import { followConfig, loadHub, readConfig } from '@toolwright/gateway/config';

const source = await readConfig(`${projectDir}/toolwright.yaml`);
await using loaded = loadHub(source);
await using followed = await followConfig(loaded, source.file); // saving the file applies it
const tools = await loaded.hub.listTools();

assert.ok(followed && tools.length > 0);
