// The forms of tools for OpenAI's APIs and for servers that speak them.

import { isJsonObject, type JsonObject, type JsonSchema } from '../contract/json.js';
import type { CompileSchema, VendorForm } from './kit-tools.js';
import type { ReportLoss } from './schema-loss.js';
import { strictSchema, withoutStrictNulls } from './strict-schema.js';
import { mapSubschemas } from './vendor-schema.js';

/** The APIs refuse a request with more tools. */
const MAX_TOOLS = 128;
/** They refuse a longer description. */
const MAX_DESCRIPTION = 1_024;

const plain: CompileSchema = (portable, report, { description }) => {
  const schema = withoutLookaround(portable, '', report) as JsonSchema;
  const { rest } = splitDescription(description);
  if (rest === '') return { schema };
  report('', `Only ${MAX_DESCRIPTION} characters of the description are sent there; the rest describes the arguments.`);
  return { schema: { ...schema, description: rest } };
};

const strict: CompileSchema = (portable, report, tool) => {
  const { schema } = plain(portable, report, tool);
  const losses: [path: string, message: string][] = [];
  const compiled = strictSchema(schema, (path, message) => losses.push([path, message]));
  if ('reason' in compiled) {
    report('', `The schema is not strict: ${String(compiled.reason)}.`);
    return { schema };
  }
  for (const loss of losses) report(...loss);
  return { schema: compiled, restore: (args) => withoutStrictNulls(tool.inputSchema, args) as JsonObject };
};

/** By the option `form` of a kit. */
export const OPENAI_FORMS: ReadonlyMap<string, VendorForm> = new Map([
  ['strict', { compile: strict, maxTools: MAX_TOOLS }],
  ['plain', { compile: plain }], // other servers have limits of their own
]);

/** The part of a description that the APIs accept, and what follows it. */
export function splitDescription(text: string): { description: string; rest: string } {
  if (text.length <= MAX_DESCRIPTION) return { description: text, rest: '' };
  const space = text.lastIndexOf(' ', MAX_DESCRIPTION);
  const isPair = /[\uD800-\uDBFF]/.test(text.charAt(MAX_DESCRIPTION - 1)); // a character is not cut
  const end = space > MAX_DESCRIPTION / 2 ? space : MAX_DESCRIPTION - (isPair ? 1 : 0);
  return { description: text.slice(0, end), rest: text.slice(end).trimStart() };
}

/** The APIs refuse patterns that look ahead or behind, such as that of an e-mail address in Zod. */
function withoutLookaround(schema: unknown, path: string, report: ReportLoss): unknown {
  if (!isJsonObject(schema)) return schema;
  const kept = mapSubschemas(schema, (sub, at) => withoutLookaround(sub, at, report), path);
  if (typeof kept.pattern === 'string' && /\(\?<?[=!]/.test(kept.pattern)) {
    report(path, 'pattern is not sent, because it looks ahead or behind.');
    delete kept.pattern;
  }
  if (isJsonObject(kept.$defs))
    kept.$defs = Object.fromEntries(
      Object.entries(kept.$defs).map(([name, sub]) => [name, withoutLookaround(sub, `/$defs/${name}`, report)]),
    );
  return kept;
}
