// servers: lists language servers and their states, or restarts one.

import { ToolError } from '../../../contract/errors.js';
import { defineTool, type Tool } from '../../../tool/define-tool.js';
import { limitText } from '../../project/output-budget.js';
import { escapeControls, quote } from '../../project/scope/project-scope.js';
import type { DiagnosticsContext } from '../diagnostics-context.js';
import { serverOutput, serverRow } from '../lsp/server-rows.js';
import { hints, objectSchema } from '../../../tool/object-schema.js';

const input = objectSchema(
  {},
  {
    restart: { type: 'string', description: 'The name of a server to stop; the next call starts it again.' },
  },
);

const output = objectSchema({
  servers: { type: 'array', items: serverOutput, description: 'The servers that were started.' },
  languages: {
    type: 'array',
    items: objectSchema(
      {
        name: { type: 'string' },
        extensions: { type: 'array', items: { type: 'string' } },
        found: { type: 'boolean' },
      },
      {
        hint: { type: 'string', description: 'How to install it, if it was not found.' },
      },
    ),
  },
  restarted: { type: 'integer', description: 'The number of servers stopped.' },
});

/** The tool `servers`. */
export function serversTool(context: DiagnosticsContext): Tool {
  return defineTool({
    name: 'servers',
    title: 'Language servers',
    description: 'Show which language servers run, which are installed, and how to install the others; or restart one.',
    input,
    output,
    annotations: hints('readOnly', 'idempotent'),
    async execute({ restart }) {
      const servers = context.servers();
      const ended = servers.clients.filter(({ launch }) => launch.name === restart);
      if (restart !== undefined && !servers.presets.some(({ name }) => name === restart))
        throw new ToolError(
          'INVALID_ARGUMENT',
          `Unknown server ${quote(restart)}; valid servers: ${servers.presets.map(({ name }) => name).join(', ')}.`,
        );
      await Promise.all(ended.map((client) => client.stop()));
      const languages = await Promise.all(
        servers.presets.map(async (preset) => {
          const launch = await servers.locate(preset);
          const found = 'command' in launch;
          const extensions = Object.keys(preset.languages);
          return { name: preset.name, extensions, found, ...(!found && { hint: launch.hint }) };
        }),
      );
      const rows = servers.clients.map((client) => serverRow(client, context.files.scope));
      const lines = [
        ...rows.map(({ name, state, root, version, error }) =>
          escapeControls(
            `${name}${version === undefined ? '' : ` ${version}`} in ${root}: ${state}${error === undefined ? '' : `. ${error}`}`,
          ),
        ),
        ...languages.map(({ name, extensions, found, hint }) =>
          escapeControls(`${name} (${extensions.join(' ')}): ${found ? 'found' : `not found. ${hint ?? ''}`}`),
        ),
      ];
      return {
        content: [
          { type: 'text', text: limitText(lines.join('\n'), context.limits, (more) => `[${more} more lines]`) },
        ],
        structuredContent: { servers: rows, languages, restarted: ended.length },
      };
    },
  });
}
