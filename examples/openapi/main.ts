// The tools of an HTTP API, from its OpenAPI document: behind a policy, with credentials, and with a selection of them.

import assert from 'node:assert/strict';
import { servePets } from './pets-server.js';

await using api = await servePets('a-token-of-this-example');
const { address } = api;
const vault = { token: () => Promise.resolve('a-token-of-this-example') };

// #region example
import { textOf, ToolHub } from '@toolwright/core';
import { OpenApiToolProvider } from '@toolwright/core/openapi';

const pets = new OpenApiToolProvider({
  name: 'pets',
  document: `${address}/openapi.json`,
  auth: async () => ({ headers: { authorization: `Bearer ${await vault.token()}` } }),
});
await using hub = new ToolHub({
  providers: [{ provider: pets, pinned: true }],
  pins: { load: () => undefined, save: () => undefined }, // a file in earnest
  policy: {
    default: 'deny',
    rules: [
      { tool: 'pets.*', pattern: 'GET *', action: 'allow' },
      { tool: 'pets.*', pattern: 'POST /pets', action: 'allow' },
    ],
  },
});
const tools = await hub.listTools(); // pets.add_pet, pets.get_pet, pets.delete_pet
const added = await hub.callTool('pets.add_pet', { name: 'Max', tags: ['small'] });
const { structuredContent } = await hub.callTool('pets.get_pet', { id: added.structuredContent?.id });
const missing = await hub.callTool('pets.get_pet', { id: 9 });
console.log(textOf(missing)); // [EXECUTION_FAILED] GET /pets/{id} responded with 404 Not Found: {"message":"No such pet."}
const deleted = await hub.callTool('pets.delete_pet', { id: 7 }); // PERMISSION_DENIED
// #endregion

assert.deepEqual(
  tools.map(({ name }) => name),
  ['pets.add_pet', 'pets.get_pet', 'pets.delete_pet'],
);
assert.deepEqual(structuredContent, { id: 8, name: 'Max', tags: ['small'] });
assert.match(textOf(missing), /404 Not Found: \{"message":"No such pet."\}/);
assert.equal(deleted.error?.code, 'PERMISSION_DENIED');

// #region file
const selected = new OpenApiToolProvider({
  name: 'pets',
  document: new URL('pets.yaml', import.meta.url), // needs js-yaml
  server: `${address}/v1`, // required: a file has no origin
  include: ['GET *', 'add_*'],
  exclude: ({ deprecated }) => deprecated,
});
// #endregion

assert.deepEqual(
  (await selected.listTools()).map(({ name }) => name),
  ['pets.get_pet'],
);
const refused = await selected.callTool('pets.get_pet', { id: 7 });
assert.match(textOf(refused), /401 Unauthorized\. It needs credentials: set `auth` of the provider/);
await selected.disconnect();
console.log(`${tools.length} tools`);
