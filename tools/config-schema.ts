// npm run config-schema: writes the JSON Schema of configuration files, which @toolwright/gateway publishes.

import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { configJsonSchema } from '../packages/gateway/src/config/config-schema.js';

const file = fileURLToPath(new URL('../packages/gateway/schema.json', import.meta.url));
await writeFile(file, `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
