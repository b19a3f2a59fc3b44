// show: a commit with its patch, a tag, or a directory or file as of a commit.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { limitText } from '../../project/output-budget.js';
import { escapeControls, quote } from '../../project/scope/project-scope.js';
import { COMMIT, COMMIT_FORMAT, parseCommit, type Commit } from '../repository/commit-record.js';
import { claimPaths, type GitContext } from '../git-context.js';
import { nulFields } from '../repository/nul-records.js';
import { offsetOf, PATCH_INPUT, PATCH_OUTPUT, readPart, readPatch } from '../repository/patch-pages.js';
import { REF, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = {
  type: 'object',
  properties: {
    ref: { ...REF, description: 'A commit, tag or branch.' },
    path: {
      type: 'string',
      minLength: 1,
      description: 'Show this file or directory as of the commit; relative to the project.',
    },
    ...PATCH_INPUT,
  },
  required: ['ref'],
} as const;

const output = {
  type: 'object',
  properties: {
    type: { type: 'string', enum: ['commit', 'tag', 'tree', 'blob'] },
    oid: { type: 'string' },
    commit: COMMIT,
    size: { type: 'integer', description: 'The size of the file, in bytes.' },
    binary: { type: 'boolean', description: 'The file is not text and is not shown.' },
    entries: {
      type: 'array',
      description: 'Of a directory.',
      items: objectSchema({
        path: { type: 'string' },
        type: { type: 'string' },
        mode: { type: 'string' },
        oid: { type: 'string' },
      }),
    },
    ...PATCH_OUTPUT,
  },
  required: ['type', 'oid', 'truncated'],
  additionalProperties: false,
} as const;

interface Page {
  context: number;
  stat_only: boolean;
  max_bytes: number;
  cursor?: string;
}

/** The tool `show`. */
export function showTool(context: GitContext): Tool {
  return defineTool({
    name: 'show',
    title: 'Show a commit or an old file',
    description:
      'Show a commit with its message and patch (for a merge, against its first parent). With path, show a file of that commit.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ path }) => claimPaths(context, path === undefined ? [] : [path], 'read', 'shows it as it was'),
    async execute({ ref, path, ...page }, ctx) {
      const repository = await Repository.open(context, ctx);
      if (path === undefined) {
        const oid = await resolveRef(repository, ref, 'object');
        const type = await typeOf(repository, oid);
        if (type === 'tree') return showTree(context, repository, oid, '');
        if (type === 'blob') return showFile(repository, oid, page);
        return showCommit(repository, oid, type, page);
      }
      const commit = await resolveRef(repository, ref);
      const place = await repository.path(path);
      const { name } = place;
      if (name === '.') return showTree(context, repository, commit, '');
      const { stdout } = await repository.read(['ls-tree', '-z', '--full-tree', commit], { paths: [place] });
      const entry = parseTree(stdout, (raw) => repository.shown(raw))[0];
      if (!entry)
        throw new ToolError(
          'NOT_FOUND',
          `${quote(path)} does not exist in ${quote(ref)}. Use show with its parent directory.`,
        );
      if (entry.type === 'tree') return showTree(context, repository, entry.oid, `${name}/`);
      if (entry.type === 'blob') return showFile(repository, entry.oid, page);
      return {
        content: [{ type: 'text', text: `${escapeControls(entry.path)} is a submodule at ${entry.oid}.` }],
        structuredContent: { type: 'commit' as const, oid: entry.oid, truncated: false },
      };
    },
  });
}

async function typeOf(repository: Repository, oid: string): Promise<'commit' | 'tag' | 'tree' | 'blob'> {
  const { stdout } = await repository.read(['cat-file', '-t', oid]);
  return stdout.toString('latin1').trim() as 'commit' | 'tag' | 'tree' | 'blob';
}

async function showCommit(repository: Repository, oid: string, type: 'commit' | 'tag', page: Page) {
  const commit = await readCommit(repository, await resolveRef(repository, oid));
  const [parent] = commit.parents;
  const args =
    parent === undefined
      ? ['diff-tree', '--root', '--no-commit-id', '-r', commit.oid]
      : ['diff-tree', '-r', parent, commit.oid];
  const { text, ...data } = await readPatch(repository, { args, paths: [], ...page });
  const head = page.cursor === undefined ? `${await tagText(repository, oid, type)}${commitText(commit)}\n\n` : '';
  return {
    content: [{ type: 'text' as const, text: `${head}${text}` }],
    structuredContent: { type, oid, commit, ...data },
  };
}

/** Reads one commit. @throws {ToolError} TOO_LARGE for a message above 8 MiB */
export async function readCommit(repository: Repository, oid: string): Promise<Commit> {
  const { stdout, cut } = await repository.read(
    ['log', '-z', '--no-walk', '--no-notes', '--no-color', COMMIT_FORMAT, oid],
    { paths: [] },
  );
  if (cut) throw new ToolError('TOO_LARGE', 'The message of the commit is larger than 8 MiB.');
  return parseCommit(nulFields(stdout));
}

async function tagText(repository: Repository, oid: string, type: 'commit' | 'tag'): Promise<string> {
  if (type !== 'tag') return '';
  const { text } = await readPart(repository, ['cat-file', 'tag', oid], 0, 10_000);
  return `${escapeLines(text)}\n\n`;
}

function commitText({ oid, parents, author, subject, body }: Commit): string {
  return [
    `commit ${oid}`,
    ...(parents.length > 1 ? [`Merge: ${parents.map((parent) => parent.slice(0, 12)).join(' ')}`] : []),
    `Author: ${escapeControls(`${author.name} <${author.email}>`)}`,
    `Date: ${author.date}`,
    '',
    escapeControls(subject),
    ...(body === '' ? [] : ['', escapeLines(body)]),
  ].join('\n');
}

function escapeLines(text: string): string {
  return text.split('\n').map(escapeControls).join('\n');
}

async function showTree(context: GitContext, repository: Repository, tree: string, prefix: string) {
  const { stdout, cut } = await repository.read(['ls-tree', '-z', '--full-tree', tree]);
  const entries = parseTree(stdout, (raw) => repository.shown(Buffer.concat([Buffer.from(prefix), raw])));
  const lines = entries.map(
    ({ path, type }) => `${escapeControls(path)}${type === 'tree' ? '/' : type === 'commit' ? ' (submodule)' : ''}`,
  );
  const text = limitText(
    lines.join('\n') || 'The directory is empty.',
    context.limits,
    (more) => `[${more} more entries. Use a subdirectory.]`,
  );
  const oid = await resolveRef(repository, tree, 'tree');
  return {
    content: [{ type: 'text' as const, text }],
    structuredContent: { type: 'tree' as const, oid, entries, truncated: cut },
  };
}

async function showFile(repository: Repository, oid: string, { stat_only, max_bytes, cursor }: Page) {
  const size = Number((await repository.read(['cat-file', '-s', oid])).stdout.toString('latin1').trim());
  const data = { type: 'blob' as const, oid, size };
  const offset = offsetOf(cursor, oid);
  const { text, next, bytes } = await readPart(repository, ['cat-file', 'blob', oid], offset, max_bytes);
  if (bytes.subarray(0, 8_000).includes(0)) {
    const said = `Not text: ${size} bytes.`;
    return {
      content: [{ type: 'text' as const, text: said }],
      structuredContent: { ...data, binary: true, truncated: false },
    };
  }
  if (stat_only || next === undefined)
    return {
      content: [{ type: 'text' as const, text: stat_only ? `${size} bytes.` : text }],
      structuredContent: { ...data, binary: false, truncated: false },
    };
  const more = `${oid}.${next}`;
  return {
    content: [{ type: 'text' as const, text: `${text}\n[The file continues. Call again with cursor "${more}".]` }],
    structuredContent: { ...data, binary: false, truncated: true, cursor: more },
  };
}

/** Parses `ls-tree -z`: mode, type and object, then a tab and the name. */
function parseTree(stdout: Buffer, show: (path: Buffer) => string) {
  return nulFields(stdout).map((field) => {
    const tab = field.indexOf(0x09);
    const [mode = '', type = '', oid = ''] = field.toString('latin1', 0, tab).split(' ');
    return { path: show(field.subarray(tab + 1)), type, mode, oid };
  });
}
