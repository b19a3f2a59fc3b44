import { readFile } from 'node:fs/promises';
import { VERSION } from '@toolwright/gateway';
import { expect, it } from 'vitest';

it('VERSION equals the version of all three packages', async () => {
  for (const name of ['core', 'runtime', 'gateway']) {
    const manifest = JSON.parse(await readFile(new URL(`../../${name}/package.json`, import.meta.url), 'utf8')) as {
      version: string;
    };
    expect(manifest.version).toBe(VERSION);
  }
});
