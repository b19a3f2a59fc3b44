// Searching a tree of 100,000 files, against ripgrep alone on the same tree in the same run.

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rgPath } from '@vscode/ripgrep';
import { InProcessToolProvider } from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';
import { createFilesystemServer } from '@toolwright/core/servers';
import { compare, type Row } from '../method.js';

const DIRECTORIES = 1_000;
const FILES_EACH = 100;
const NEEDLES = 10;
/** A search takes a second, so fifteen rounds of each row take a minute or more. */
const OPTIONS = { rounds: 15, batch: 1, warmUp: 2 };
const BASE = ['--no-config', '--no-messages', '--hidden', '--no-require-git', '--glob', '!.git'];

export async function searchRows(): Promise<Row[]> {
  const projectDir = mkdtempSync(join(tmpdir(), `toolwright-${process.pid}-bench-`));
  const providers: InProcessToolProvider[] = [];
  try {
    makeTree(projectDir);
    const tool = (search: 'rg' | 'js', name: string, args: Record<string, unknown>, rows: number) => {
      const provider = new InProcessToolProvider({ servers: [createFilesystemServer({ projectDir, search })] });
      providers.push(provider);
      return async (): Promise<void> => {
        const { structuredContent: found, isError } = await provider.callTool(`filesystem.${name}`, args);
        const count = ((found?.matches ?? found?.files) as unknown[] | undefined)?.length;
        if (isError || count !== rows) throw new Error(`${name} found ${count} rows, not ${rows}`);
      };
    };
    const bare = (...args: string[]) => ({ name: `rg ${args[0]}`, run: () => runBare(projectDir, [...BASE, ...args]) });
    const needle = bare('-n', '-e', 'needle', '.');
    const rows: Row[] = [];
    const add = async (
      what: string,
      subject: () => Promise<void>,
      floor: { name: string; run: () => unknown },
      times: number,
      moreMs: number,
    ) => {
      const row = await compare(what, { name: what, run: subject }, floor, { ...OPTIONS, times });
      const bound = `<= ${times} x${moreMs > 0 ? ` + ${moreMs} ms` : ''}`;
      rows.push({ ...row, reach: { bound, reached: row.excessUs.median <= moreMs * 1_000 } });
    };
    await add('grep, a needle in 10 files', tool('rg', 'grep', { pattern: 'needle' }, NEEDLES), needle, 1.5, 150);
    await add('grep, dense, stopped at 100', tool('rg', 'grep', { pattern: 'line' }, 100), needle, 1.5, 150);
    await add(
      'glob by path',
      tool('rg', 'glob', { pattern: '*.ts', sort: 'path' }, 1_000),
      bare('--files', '--sort', 'path', '.'),
      2,
      150,
    );
    await add(
      'glob by mtime',
      tool('rg', 'glob', { pattern: '*.ts' }, 1_000),
      bare('--files', '--sortr', 'modified', '.'),
      1,
      150,
    );
    await add('grep by the own walk', tool('js', 'grep', { pattern: 'needle' }, NEEDLES), needle, 8, 0);
    await add(
      'glob by the own walk',
      tool('js', 'glob', { pattern: '*.ts', sort: 'path' }, 1_000),
      bare('--files', '--sort', 'path', '.'),
      8,
      0,
    );
    return rows;
  } finally {
    await Promise.all(providers.map((provider) => provider.disconnect()));
    await rm(projectDir, { recursive: true, force: true });
  }
}

/** Files of some kilobytes in directories of a hundred, one directory in ten ignored. */
function makeTree(projectDir: string): void {
  const text = 'a line of text that is like many others\n'.repeat(60);
  writeFileSync(join(projectDir, '.gitignore'), '*.log\nignored-*/\n');
  for (let directory = 0; directory < DIRECTORIES; directory++) {
    const name = `${directory % 10 === 9 ? 'ignored-' : 'package-'}${directory}`;
    const path = join(projectDir, `group-${directory % 20}`, name, 'src');
    mkdirSync(path, { recursive: true });
    for (let file = 0; file < FILES_EACH; file++) {
      const hasNeedle = file === 50 && directory % (DIRECTORIES / NEEDLES) === 0;
      writeFileSync(
        join(path, `file-${file}.${file % 2 === 0 ? 'ts' : 'md'}`),
        hasNeedle ? `${text}the needle\n` : text,
      );
    }
  }
}

async function runBare(cwd: string, args: string[]): Promise<void> {
  const child = spawnChild({ command: rgPath, args, cwd, stdin: 'ignore' });
  child.stdout.resume();
  await child.exited;
}
