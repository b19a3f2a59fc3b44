// blame: who wrote each line of a file, and when.

import { readlink } from 'node:fs/promises';
import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { cutText, LineBudget } from '../../project/output-budget.js';
import { openEntryPlace } from '../../project/entries/entry-place.js';
import { openRegularFile } from '../../project/open/path-lookup.js';
import { escapeControls, quote } from '../../project/scope/project-scope.js';
import { claimPaths, type GitContext } from '../git-context.js';
import { headOf, REF, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const MAX_LINES = 1_000;
/** The limit of a file of the working tree, which is read by this process. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MAX_LINE_BYTES = 2_000;
/** The id of uncommitted lines. */
const NOT_COMMITTED = /^0+$/;

const input = objectSchema(
  {
    path: { type: 'string', minLength: 1, description: 'A file, relative to the project.' },
  },
  {
    ref: {
      ...REF,
      description: 'The commit. Default: the working tree, including uncommitted changes.',
    },
    start: { type: 'integer', minimum: 1, default: 1, description: 'The first line.' },
    end: {
      type: 'integer',
      minimum: 1,
      description: 'The last line. Default and maximum: 1,000 lines in one result.',
    },
  },
);

const output = objectSchema(
  {
    lines: {
      type: 'array',
      items: objectSchema(
        {
          line: { type: 'integer' },
          author: { type: 'string' },
          time: { type: 'string', description: 'ISO 8601, UTC.' },
          summary: { type: 'string' },
          text: { type: 'string' },
        },
        {
          oid: { type: 'string', description: 'Absent for an uncommitted line.' },
        },
      ),
    },
    truncated: { type: 'boolean', description: 'There is more: call again with start set to next_start.' },
  },
  {
    next_start: { type: 'integer' },
  },
);

interface BlamedLine {
  line: number;
  oid?: string;
  author: string;
  time: string;
  summary: string;
  text: string;
}

/** The tool `blame`. */
export function blameTool(context: GitContext): Tool {
  return defineTool({
    name: 'blame',
    title: 'Who wrote each line',
    description: 'Show for each line of a file the commit that last changed it, its author and its subject.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    permission: ({ path }) => claimPaths(context, [path], 'read', 'shows who wrote it'),
    async execute({ path, ref, start, end }, ctx) {
      const repository = await Repository.open(context, ctx);
      if (ref === undefined && (await headOf(repository)) === undefined)
        throw new ToolError('NOT_FOUND', 'The repository has no commits yet, so no line has an author. Commit first.');
      const last = Math.min(end ?? Infinity, start + MAX_LINES - 1);
      const revision = ref === undefined ? [] : [await resolveRef(repository, ref)];
      // One more line shows whether there is more; git cuts the range at the end of the file.
      const args = ['blame', '--porcelain', '--no-textconv', `-L${start},${last + 1}`, ...revision];
      const paths = [await repository.path(path)];
      const { stdout } =
        ref === undefined
          ? await repository.read([...args, '--contents=-'], { paths, stdin: await readWorkingFile(context, path) })
          : await repository.read(args, { paths });
      const all = parseBlame(stdout);
      const budget = new LineBudget(context.limits);
      const lines = all.slice(0, last - start + 1).filter((line) => budget.add(lineText(line)));
      const truncated = all.length > lines.length && (end === undefined || start + lines.length <= end);
      const next = start + lines.length;
      const notice = truncated ? `\n[There is more. Continue with start ${next}.]` : '';
      return {
        content: [{ type: 'text', text: `${budget.text()}${notice}` }],
        structuredContent: { lines, truncated, ...(truncated && { next_start: next }) },
      };
    },
  });
}

/** Reads the file through the project scope, as git would follow a link in place of a directory. */
async function readWorkingFile({ files }: GitContext, path: string): Promise<Buffer> {
  const requested = files.scope.parse(path);
  await using place = await openEntryPlace(files.scope, requested, { write: false, mustExist: true });
  if (place.stats?.isSymbolicLink()) return await readlink(place.address, 'buffer');
  const { handle, stats } = await openRegularFile(files.scope, requested);
  try {
    if (stats.size > MAX_FILE_BYTES)
      throw new ToolError(
        'TOO_LARGE',
        `${quote(requested.shown)} is larger than 64 MiB. Set ref: git reads files of a commit itself.`,
      );
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

/** Parses `blame --porcelain`, where each commit is described at its first line. https://git-scm.com/docs/git-blame#_the_porcelain_format */
export function parseBlame(stdout: Buffer): BlamedLine[] {
  const commits = new Map<string, { author: string; time: string; summary: string }>();
  const lines: BlamedLine[] = [];
  let oid = '';
  let line = 0;
  let facts = { author: '', time: '', summary: '' };
  for (const row of stdout.toString('utf8').split('\n')) {
    const [, id, , number] = /^([0-9a-f]{40,64}) (\d+) (\d+)/.exec(row) ?? [];
    if (row.startsWith('\t')) {
      const text = cutText(row.slice(1), MAX_LINE_BYTES);
      lines.push({ line, ...(!NOT_COMMITTED.test(oid) && { oid }), ...facts, text });
    } else if (id !== undefined) {
      oid = id;
      line = Number(number);
      facts = commits.get(oid) ?? { author: '', time: '', summary: '' };
      commits.set(oid, facts);
    } else if (row.startsWith('author '))
      facts.author = NOT_COMMITTED.test(oid) ? 'Not Committed Yet' : row.slice('author '.length);
    else if (row.startsWith('author-time ')) facts.time = timeOf(Number(row.slice('author-time '.length)));
    else if (row.startsWith('summary ')) facts.summary = row.slice('summary '.length);
  }
  return lines;
}

/** Formats a time; a commit may contain any number. */
function timeOf(seconds: number): string {
  const time = new Date(1_000 * seconds);
  return Number.isNaN(time.getTime()) ? '' : time.toISOString();
}

function lineText({ line, oid, author, time, text }: BlamedLine): string {
  const who = oid === undefined ? 'not committed' : `${oid.slice(0, 8)} ${escapeControls(author)} ${time.slice(0, 10)}`;
  return `${line}\t${who}\t${text}`;
}
