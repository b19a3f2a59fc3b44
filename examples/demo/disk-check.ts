// Compares every result with the bytes on disk, read without any tool, so that the demo can fail.

import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { textOf, type JsonObject, type ToolResult } from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';
import { gitIn } from './git.js';

interface Edit {
  old_string: string;
  new_string: string;
  replace_all?: boolean;
}

export class DiskCheck {
  /** Results that differ from the disk. */
  readonly differences: string[] = [];
  readonly #projectDir: string;
  /** The expected content of each file: as first read, plus the edits that were reported as done. */
  readonly #expected = new Map<string, string>();

  constructor(projectDir: string) {
    this.#projectDir = projectDir;
  }

  /** A description of what was compared; undefined if there was nothing to compare. */
  async compare({ name, args }: { name: string; args: JsonObject }, result: ToolResult): Promise<string | undefined> {
    const path = typeof args.path === 'string' ? args.path : '.';
    const found = await this.#compare(name, path, args, result);
    if (found?.differs) this.differences.push(`${name} ${path}: ${found.what}`);
    return found && `${found.differs ? 'DIFFERS from' : 'agrees with'} the disk: ${found.what}`;
  }

  async #compare(
    name: string,
    path: string,
    args: JsonObject,
    result: ToolResult,
  ): Promise<{ what: string; differs: boolean } | undefined> {
    if (path.startsWith('..')) return { what: 'nothing outside the project was read', differs: !result.isError };
    if (result.isError) return this.#expected.has(path) ? this.#unchanged(path) : undefined;
    const rows = result.structuredContent ?? {};
    switch (name) {
      case 'filesystem.list_directory': {
        const listed = (rows.entries as { path: string }[]).map((entry) => entry.path).toSorted();
        const real = (await readdir(join(this.#projectDir, path))).toSorted();
        return { what: `${listed.length} entries`, differs: listed.join('\0') !== real.join('\0') };
      }
      case 'filesystem.glob': {
        const files = rows.files as string[];
        const exist = await Promise.all(files.map((file) => stat(join(this.#projectDir, file)).then((found) => found.isFile(), () => false))); // prettier-ignore
        return { what: `${files.length} files exist`, differs: exist.includes(false) };
      }
      case 'filesystem.grep': {
        const matches = (rows.matches as { line: number; text: string }[]).map(
          ({ line, text }) => `${line}:${text.trimEnd()}`,
        );
        const real = await this.#linesThatMatch(path, args);
        return { what: `${matches.length} lines`, differs: matches.join('\n') !== real.join('\n') };
      }
      case 'filesystem.read_file': {
        const lines = await this.#lines(path);
        const shown = lines.slice(Number(rows.start_line) - 1, Number(rows.end_line)).join('\n');
        this.#expected.set(path, await this.#read(path));
        return {
          what: `lines ${String(rows.start_line)} to ${String(rows.end_line)}`,
          differs: !textOf(result).replaceAll('\r\n', '\n').includes(shown.slice(0, 1_500)),
        };
      }
      case 'filesystem.write_file':
        this.#expected.set(path, String(args.content));
        return this.#unchanged(path);
      case 'filesystem.edit_file': {
        let content = this.#expected.get(path) ?? '';
        for (const { old_string, new_string, replace_all } of args.edits as Edit[]) {
          content = replace_all
            ? content.replaceAll(old_string, () => new_string)
            : content.replace(old_string, () => new_string);
        }
        this.#expected.set(path, content);
        return this.#unchanged(path);
      }
      case 'git.status': {
        const entries = rows.entries as { path: string; index: string; worktree: string; kind: string }[];
        const reported = entries.map(({ path: changed, index, worktree, kind }) =>
          kind === 'untracked' ? `?? ${changed}` : `${`${index}${worktree}`.replaceAll('.', ' ')} ${changed}`,
        );
        const real = (await gitIn(this.#projectDir, 'status', '--porcelain', '-z')).split('\0').slice(0, -1);
        return { what: `${real.length} changed`, differs: reported.join('\0') !== real.join('\0') };
      }
      case 'git.commit': {
        const [oid, names] = (await gitIn(this.#projectDir, 'show', '--format=%H%x00', '--name-only')).split('\0');
        const files = (names ?? '').split('\n').filter((line) => line !== '');
        return { what: `${files.length} committed file`, differs: oid !== rows.oid || files.length !== rows.files };
      }
      case 'bash.execute': {
        const real = await this.#runAgain(String(args.command));
        const differs = real.code !== rows.exit_code || !textOf(result).startsWith(real.output.trimEnd());
        return { what: `the same command ends with ${String(real.code)}`, differs };
      }
      default:
        return undefined;
    }
  }

  /** Runs the command again, in a shell without the tool. */
  async #runAgain(command: string): Promise<{ output: string; code: number | null }> {
    const child = spawnChild({ command: 'bash', args: ['-c', command], cwd: this.#projectDir, stdin: 'ignore' });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    return { code: (await child.exited).code, output };
  }

  /** The lines of a file that a search should find, found without ripgrep. */
  async #linesThatMatch(path: string, { pattern, literal, limit }: JsonObject): Promise<string[]> {
    const content = await this.#read(path);
    if (content.includes('\0')) return []; // binary
    const source = String(pattern);
    const expression = new RegExp(literal ? source.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') : source);
    const lines = await this.#lines(path);
    const found = lines.flatMap((line, index) => (expression.test(line) ? [`${index + 1}:${line.trimEnd()}`] : []));
    return found.slice(0, typeof limit === 'number' ? limit : 100);
  }

  async #unchanged(path: string): Promise<{ what: string; differs: boolean }> {
    const bytes = Buffer.byteLength(this.#expected.get(path) ?? '');
    return { what: `all ${bytes} bytes of ${path}`, differs: (await this.#read(path)) !== this.#expected.get(path) };
  }

  async #lines(path: string): Promise<string[]> {
    return (await this.#read(path)).replace(/^\ufeff/, '').split(/\r?\n/);
  }

  async #read(path: string): Promise<string> {
    return readFile(join(this.#projectDir, path), 'utf8');
  }
}
