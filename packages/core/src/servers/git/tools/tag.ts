// tag: lists, creates and deletes tags.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { limitText } from '../../project/output-budget.js';
import { escapeControls, quote } from '../../project/scope/project-scope.js';
import { assertMessage, MESSAGE } from './commit.js';
import { claimAction, type GitContext } from '../git-context.js';
import { assertNewName, assertRefText, exactRef, REF, resolveRef } from '../repository/refs.js';
import { Repository } from '../repository/repository.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {
    action: { type: 'string', enum: ['list', 'create', 'delete'] },
  },
  {
    name: { ...REF, description: 'For create and delete.' },
    ref: { ...REF, default: 'HEAD', description: 'For create: the commit to tag. Default: HEAD.' },
    message: { ...MESSAGE, description: 'For create: the message of an annotated tag.' },
    limit: {
      type: 'integer',
      minimum: 1,
      maximum: 10_000,
      default: 200,
      description: 'For list: the most tags to return, newest first.',
    },
    skip: { type: 'integer', minimum: 0, default: 0, description: 'For list: tags to skip, to continue.' },
  },
);

const output = objectSchema(
  {
    tags: {
      type: 'array',
      items: objectSchema({ name: { type: 'string' }, oid: { type: 'string' }, subject: { type: 'string' } }),
    },
    truncated: { type: 'boolean' },
  },
  {
    next_skip: { type: 'integer' },
  },
);

/** The tool `tag`. */
export function tagTool(context: GitContext): Tool {
  return defineTool({
    name: 'tag',
    title: 'Tags',
    description: 'List, create or delete tags. An existing tag is never moved.',
    input,
    output,
    annotations: hints('destructive'),
    permission: ({ action, name }) => claimAction(action, name),
    async execute({ action, name, ref, message, limit, skip }, ctx) {
      if (action === 'list') return list(context, await Repository.open(context, ctx), limit, skip);
      if (name === undefined) throw new ToolError('INVALID_ARGUMENT', `${action} requires name.`);
      return Repository.change(context, ctx, async (repository) => {
        if (action === 'delete') {
          assertRefText(name);
          const oid = await exactRef(repository, `refs/tags/${name}`);
          if (oid === undefined)
            throw new ToolError('NOT_FOUND', `The tag ${quote(name)} does not exist. List tags with action list.`);
          await repository.write(['tag', '--delete', name]);
          return one(name, oid, 'Deleted');
        }
        await assertNewName(repository, 'tag', name);
        const oid = await resolveRef(repository, ref, 'object');
        if (message === undefined) await repository.write(['tag', name, oid]);
        else {
          assertMessage(message);
          await repository.write(['tag', '--annotate', '--cleanup=whitespace', '--file=-', name, oid], {
            stdin: message,
          });
        }
        return one(name, oid, 'Made');
      });
    },
  });
}

function one(name: string, oid: string, done: string) {
  const text = `${done} the tag ${quote(name)}, at ${oid}.`;
  return {
    content: [{ type: 'text' as const, text }],
    structuredContent: { tags: [{ name, oid, subject: '' }], truncated: false },
  };
}

async function list(context: GitContext, repository: Repository, limit: number, skip: number) {
  const format = '--format=%(refname)%00%(objectname)%00%(contents:subject)';
  const args = ['for-each-ref', '--sort=-creatordate', `--count=${skip + limit + 1}`, format, 'refs/tags/'];
  const rows = (await repository.read(args)).stdout
    .toString('utf8')
    .split('\n')
    .filter((row) => row !== '');
  const tags = rows.slice(skip, skip + limit).map((row) => {
    const [name = '', oid = '', ...subject] = row.split('\0');
    return { name: name.replace(/^refs\/tags\//, ''), oid, subject: subject.join(' ') };
  });
  const truncated = rows.length > skip + tags.length;
  const next = skip + tags.length;
  const lines = [
    ...tags.map(({ name, oid, subject }) => `${escapeControls(name)} ${oid.slice(0, 12)} ${escapeControls(subject)}`),
    ...(tags.length === 0 ? ['No tags.'] : []),
    ...(truncated ? [`[There are more. Continue with skip ${next}.]`] : []),
  ];
  return {
    content: [
      {
        type: 'text' as const,
        text: limitText(lines.join('\n'), context.limits, (more) => `[${more} more lines. Use a smaller limit.]`),
      },
    ],
    structuredContent: { tags, truncated, ...(truncated && { next_skip: next }) },
  };
}
