// hub.declarations(): tools as TypeScript declarations, a constant for each server and a function for each tool.

import type { JsonSchema } from '../../contract/json.js';
import { FreeNames } from '../../contract/free-names.js';
import type { ToolDefinition } from '../../contract/tool-definition.js';
import { assertOptions, type OptionNames } from '../../contract/options.js';
import type { ToolSelection } from '../../provider/tool-selection.js';
import { serverOf } from '../../provider/tool-index.js';
import { docComment } from './doc-comment.js';
import { propertyKey, SchemaTypes } from './schema-type.js';

/** Options of {@link ToolHub.declarations}. */
export interface DeclarationOptions extends ToolSelection {
  /** Cancels the listing. */
  signal?: AbortSignal;
}

const OPTIONS: OptionNames<DeclarationOptions> = { include: true, exclude: true, signal: true };

/** @throws {ToolError} INVALID_ARGUMENT */
export function assertDeclarationOptions(options: DeclarationOptions): void {
  assertOptions('declarations()', options, OPTIONS);
}

/** Names that a constant of a module cannot have, or that would hide what programs use. */
const RESERVED = new Set(
  `abstract arguments as async await boolean break case catch class const continue debugger declare default delete do else
   enum eval export extends false finally for from function get if implements import in instanceof interface let new null
   number object of package private protected public return set static string super switch symbol this throw true try type
   typeof undefined unknown var void while with yield
   Array ArrayBuffer Boolean Date Error Function Infinity Intl JSON Map Math NaN Number Object Promise Proxy Reflect RegExp
   Set String Symbol WeakMap WeakSet console globalThis process`.split(/\s+/),
);

/** The declarations of these tools, a module of its own. */
export function declarationsOf(tools: readonly ToolDefinition[]): string {
  const byServer = new Map<string, ToolDefinition[]>();
  for (const tool of tools) {
    const server = serverOf(tool.name) ?? tool.name;
    const own = byServer.get(server);
    if (own) own.push(tool);
    else byServer.set(server, [tool]);
  }
  const names = namespacesOf([...byServer.keys()]);
  const types = new Set<string>();
  const freeTypes = new FreeNames(types);
  const typeNameFor = (wanted: string): string => {
    const name = freeTypes.free(wanted);
    types.add(name);
    return name;
  };
  const blocks: string[] = [];
  for (const [server, own] of byServer) blocks.push(serverBlock(server, names.get(server) as string, own, typeNameFor));
  blocks.push('export {};');
  return `${blocks.join('\n\n')}\n`;
}

/**
 * The constants of servers: their names, with `_` in place of what an identifier cannot have, and at the end of what is
 * reserved or taken.
 */
function namespacesOf(servers: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const isPlain = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && !RESERVED.has(name);
  // Plain names first: they stay as they are, whatever others become.
  for (const server of [...servers].sort((a, b) => Number(isPlain(b)) - Number(isPlain(a)) || (a < b ? -1 : 1))) {
    let name = server.replace(/\W/g, '_').replace(/^(?=\d|$)/, '_');
    while (RESERVED.has(name) || taken.has(name)) name += '_';
    taken.add(name);
    names.set(server, name);
  }
  return names;
}

function serverBlock(
  server: string,
  name: string,
  tools: readonly ToolDefinition[],
  typeNameFor: (wanted: string) => string,
): string {
  const declared: string[] = [];
  const lines = [...docComment(name === server ? '' : `The server "${server}".`, ''), `declare const ${name}: {`];
  for (const tool of tools) {
    const bare = tool.name.slice(server.length + 1);
    const typeOf = (schema: JsonSchema, side: string): string => {
      const prefix = `${name}__${bare.replace(/\W/g, '_').slice(0, 64)}__${side}`;
      const converted = new SchemaTypes(schema, (hint) =>
        typeNameFor(hint === '' ? prefix : `${prefix}_${hint.replace(/\W/g, '_').slice(0, 64)}`),
      );
      const type = converted.rootType('  ');
      for (const declaration of converted.declarations()) declared.push(declaration);
      return type;
    };
    const needsArguments = Array.isArray(tool.inputSchema.required) && tool.inputSchema.required.length > 0;
    const args = `args${needsArguments ? '' : '?'}: ${typeOf(tool.inputSchema, 'args')}`;
    const result = tool.outputSchema ? typeOf(tool.outputSchema, 'result') : 'unknown';
    for (const line of docComment(tool.description, '  ')) lines.push(line);
    lines.push(`  ${propertyKey(bare)}(${args}): Promise<${result}>;`);
  }
  return [...declared, [...lines, '};'].join('\n')].join('\n\n');
}
