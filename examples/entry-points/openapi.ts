// The example of @toolwright/core/openapi in the API reference.

import assert from 'node:assert/strict';
import { servePets } from '../openapi/pets-server.js';

await using api = await servePets();
const { address } = api;

import { textOf } from '@toolwright/core';
import { OpenApiToolProvider } from '@toolwright/core/openapi';

await using pets = new OpenApiToolProvider({ name: 'pets', document: `${address}/openapi.json` });
const result = await pets.callTool('pets.get_pet', { id: 7 });
console.log(result.error ? `${result.error.code}: ${result.error.message}` : textOf(result)); // {"id":7,"name":"Rex"}

assert.deepEqual(result.structuredContent, { id: 7, name: 'Rex' });
