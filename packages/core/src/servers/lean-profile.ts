// The lean profile of the built-in servers: fewer tools, with shorter listings. What a listing leaves out still works: calls are
// validated with the whole schema, whose errors name every argument.

import type { JsonObject, JsonSchema } from '../contract/json.js';
import { isJsonObject } from '../contract/json.js';
import { withListing, type Tool } from '../tool/define-tool.js';
import type { ToolServer } from '../tool/define-server.js';

/** A tool's description, and its listed arguments with theirs; an empty text for an argument that needs none. */
type LeanTool = readonly [description: string, args: Readonly<Record<string, string>>];

const LOCATION = {
  path: 'The file. Optional with symbol.',
  line: 'From 1, with column.',
  column: 'Of the name, from 1.',
  symbol: 'Instead of line and column: a name, or Container.name.',
};

/**
 * The tools of the profile. A server that is not here keeps all of its tools as they are, and so does a group of tools that has
 * to be turned on.
 */
const LEAN: Readonly<Record<string, Readonly<Record<string, LeanTool>>>> = {
  filesystem: {
    read_file: [
      'Read a text file. Lines are numbered; long ones are cut, and the result says how to continue. Read a file before changing it.',
      {
        path: 'Relative to the project, as all paths.',
        offset: 'The first line, from 1.',
        column: 'Where to continue a cut line.',
        tail: 'Read the last lines instead.',
        limit: 'Lines.',
        encoding: '',
      },
    ],
    read_media: ['Show an image or play audio. For text use read_file.', { path: '' }],
    write_file: [
      'Create a file, or replace the content of one that was read before. To change a part of a file use edit_file.',
      { path: '', content: 'All of it.', if_match: 'Only if the file still has this etag.' },
    ],
    edit_file: [
      'Replace text in a file that was read before. old_string must match exactly, white space included, and be unique ' +
        'unless replace_all is set. Give old_string and new_string, or insert_line and new_string.',
      {
        path: '',
        old_string: 'The text as it is in the file, without line numbers.',
        new_string: '',
        replace_all: '',
        insert_line: 'Insert new_string after this line; 0: at the beginning.',
        if_match: 'Only if the file still has this etag.',
      },
    ],
    list_directory: [
      'List the entries of a directory, without those that .gitignore excludes.',
      { path: 'Default: the project.', depth: 'Default: 1.', limit: '', cursor: '' },
    ],
    glob: [
      'Find files by their path, newest first, without those that .gitignore excludes.',
      { pattern: 'Such as *.ts or src/**/*.{js,ts}', path: 'The directory to search.', limit: '', cursor: '' },
    ],
    grep: [
      'Find lines that match a regular expression, without files that .gitignore excludes.',
      {
        pattern: "Rust's syntax, without look-around and back-references.",
        path: 'A directory or one file.',
        glob: 'Only such files, as *.ts or src/**',
        literal: 'The pattern is plain text.',
        case: '',
        multiline: '',
        context: 'Lines around each match.',
        mode: '',
        limit: '',
        cursor: '',
      },
    ],
    move: ['Move or rename a file or a directory.', { source: '', destination: 'The full new path.', overwrite: '' }],
    copy: [
      'Copy a file or a directory.',
      { source: '', destination: 'The full new path.', overwrite: '', recursive: 'For a directory.' },
    ],
    delete: ['Delete a file or a directory. This cannot be undone.', { path: '', recursive: 'With everything in it.' }],
  },
  bash: {
    execute: [
      'Run a command in a new bash without a terminal; directory and variables do not carry over. Returns stdout and stderr as ' +
        'one text that ends with the exit code. Start servers and watchers with background.',
      {
        command: '',
        cwd: 'Relative to the project.',
        timeout_ms: 'Default: 120000.',
        background: 'Answer at once with a job_id.',
        env: 'Variables to add. No secrets.',
      },
    ],
    job_output: [
      'Read the output of a job, or of a command whose output was too long, page by page.',
      { job_id: '', cursor: 'Default: what was not read yet.', tail_lines: '', wait_ms: 'Wait for more.' },
    ],
    job_input: [
      'Write to the standard input of a job that was started with background.',
      { job_id: '', input: 'End a line with \\n.', eof: '' },
    ],
    job_kill: ['End a job and every process that it started.', { job_id: '' }],
    job_list: ['List the background commands of this session.', {}],
  },
  git: {
    status: [
      'Show the branch and all files that are staged, changed, in conflict or untracked.',
      { paths: '', skip: '' },
    ],
    diff: [
      'Show unstaged changes; with staged, staged ones; with from and to, those between commits.',
      {
        staged: '',
        from: 'A commit.',
        to: 'Default: the working tree.',
        paths: 'Not patterns.',
        stat_only: '',
        cursor: '',
      },
    ],
    log: [
      'List commits, newest first.',
      {
        ref: 'Default: HEAD.',
        max: 'Default: 20.',
        skip: '',
        since: 'Such as 2 weeks ago',
        author: '',
        grep: 'Text in the message.',
        paths: '',
      },
    ],
    show: ['Show a commit with its patch, or with path a file as of that commit.', { ref: '', path: '', cursor: '' }],
    blame: ['Show for each line the commit that last changed it.', { path: '', start: 'The first line.', end: '' }],
    branch_list: ['List the local branches.', {}],
    branch: [
      'Create a branch without switching to it, rename one, or delete a merged one.',
      { action: '', name: '', new_name: 'For rename.', force: 'Delete it if unmerged, too.' },
    ],
    add: ['Stage files for the next commit.', { paths: 'Not patterns.', all: 'Everything, instead of paths.' }],
    unstage: ['Unstage files.', { paths: '' }],
    commit: [
      'Commit the staged changes. Stage files with add first, or set all.',
      { message: '', all: 'Stage changed tracked files first.', amend: 'Replace the last commit.' },
    ],
    checkout: ['Switch to a branch. Uncommitted changes are kept.', { ref: '', create: 'Create it first.' }],
    restore: [
      'Restore files. Their later changes are lost.',
      { paths: 'Not patterns.', source: 'A commit. Default: the index.', staged: 'Restore the index.' },
    ],
    stash: ['Stash uncommitted changes and restore them.', { action: '', index: '0 is the newest.', message: '' }],
  },
  memory: {
    store: [
      'Store something worth knowing in later sessions: a decision, a preference, a fix. One fact per memory.',
      { content: '', category: '', tags: '', key: 'Of a fact with one current value, which it replaces.' },
    ],
    retrieve: [
      'Find stored memories about a topic. Use it before you start work in an area.',
      { query: 'In plain words.', category: '', limit: '' },
    ],
    update: ['Change a memory.', { memory_id: '', content: '', expected_rev: 'The rev that you read.' }],
    delete: ['Delete a memory that is wrong or no longer true.', { memory_id: '' }],
    get: ['Get memories by their IDs.', { ids: '' }],
  },
  diagnostics: {
    diagnostics: [
      'List errors and warnings, according to the language servers. If complete is false, call again for the rest.',
      { path: 'A file, a directory, or "all".', severity: '', since: 'The token of an earlier result: only new ones.' },
    ],
    check_project: ["Run the project's checker, such as tsc, cargo or eslint.", { checker: 'Default: auto.' }],
    definition: ['Find the definition of a symbol.', LOCATION],
    references: ['Find all references to a symbol.', LOCATION],
    symbols: [
      'List what a file declares (path), or find declarations by name in the project (query).',
      { path: '', query: '' },
    ],
    rename: [
      'Rename a symbol in all files. Only shows the diff unless dry_run is false.',
      { ...LOCATION, new_name: '', dry_run: '' },
    ],
    servers: ['Show which language servers run, and how to install others.', { restart: '' }],
  },
};

/** Tools of the groups of a server, which are listed only if they were asked for. */
const GROUPS: ReadonlySet<string> = new Set(
  ['merge', 'cherry_pick', 'revert', 'rebase', 'reset', 'tag', 'fetch', 'pull', 'push'].map((name) => `git.${name}`),
);

/** Reduces the tools of a server to those of the lean profile. */
export function applyLeanProfile(server: ToolServer): void {
  const lean = LEAN[server.name];
  if (!lean) return;
  for (const tool of server.tools) {
    server.removeTool(tool.name);
    const row = Object.hasOwn(lean, tool.name) ? lean[tool.name] : undefined;
    if (row) server.addTool(leanTool(tool, row));
    else if (GROUPS.has(`${server.name}.${tool.name}`)) server.addTool(tool);
  }
}

function leanTool(tool: Tool, [description, args]: LeanTool): Tool {
  const { properties, required } = tool.input.jsonSchema ?? {};
  const listed: JsonObject = {};
  for (const [name, text] of Object.entries(args)) {
    const property = (properties as JsonObject | undefined)?.[name];
    if (isJsonObject(property)) listed[name] = { ...briefType(property), ...(text !== '' && { description: text }) };
  }
  const input: JsonSchema = { type: 'object', properties: listed, ...(required !== undefined && { required }) };
  return withListing(tool, description, input);
}

/** The type of an argument without its limits; of several types the first. */
function briefType(schema: JsonObject): JsonObject {
  if (Array.isArray(schema.anyOf) && isJsonObject(schema.anyOf[0])) return briefType(schema.anyOf[0]);
  const { type, enum: values, items } = schema;
  return {
    ...(type !== undefined && { type }),
    ...(values !== undefined && { enum: values }),
    ...(isJsonObject(items) && { items: briefType(items) }),
  };
}
