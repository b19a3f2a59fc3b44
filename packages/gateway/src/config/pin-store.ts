// The pins of a configuration: approved definitions in a file that only this user reads.

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Pins, PinStore } from '@toolwright/core';
import type { ToolwrightConfig } from './config-schema.js';

/** The store of a configuration's `pins`. A file that is missing holds no pins; one that cannot be read is an error. */
export function pinStore({ file, firstUse }: NonNullable<ToolwrightConfig['pins']>, projectDir: string): PinStore {
  const path = resolve(projectDir, file);
  return {
    load: async () => {
      try {
        return JSON.parse(await readFile(path, 'utf8')) as Pins;
      } catch (thrown) {
        if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return {};
        throw thrown;
      }
    },
    save: async (pins) => {
      await mkdir(dirname(path), { recursive: true });
      const temporary = `${path}.${process.pid}.tmp`;
      await writeFile(temporary, `${JSON.stringify(pins, null, 2)}\n`, { mode: 0o600 });
      await rename(temporary, path);
    },
    ...(firstUse !== undefined && { firstUse }),
  };
}
