// Which tools a model is offered, under which names, and with which schemas. A tool that cannot be offered is left out and
// named, because a vendor refuses the whole request for one bad tool.

import type { JsonObject, JsonSchema } from '../contract/json.js';
import { copyJson } from '../contract/json-copy.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import { aliasOf } from './alias.js';
import type { ReportLoss, SchemaLoss } from './schema-loss.js';
import { portableSchema } from './vendor-schema.js';

/** A tool as one vendor is told of it. */
export interface KitTool {
  /** The name that the model uses. */
  readonly modelName: string;
  /** The tool as the provider lists it. */
  readonly definition: ToolDefinition;
  /** A copy in the vendor's form. */
  readonly schema: JsonSchema;
  /** Converts the arguments of a model to those of the tool. Absent where they are the same. */
  readonly restore?: ((args: JsonObject) => JsonObject) | undefined;
}

/** A vendor's form of a portable schema. `tool` is what the provider lists. */
export type CompileSchema = (
  portable: JsonSchema,
  report: ReportLoss,
  tool: Pick<ToolDefinition, 'description' | 'inputSchema'>,
) => Pick<KitTool, 'schema' | 'restore'>;

/** How a vendor takes tools. */
export interface VendorForm {
  readonly compile: CompileSchema;
  /** The most tools in a request; `losses` names the further ones. Default: any number. */
  readonly maxTools?: number;
}

/** The tools in a vendor's form, by the names that a model uses, and what that form does not say. */
export function offeredTools(
  definitions: readonly ToolDefinition[],
  { compile, maxTools = Infinity }: VendorForm,
): { tools: ReadonlyMap<string, KitTool>; losses: readonly SchemaLoss[] } {
  const losses: SchemaLoss[] = [];
  const tools = new Map<string, KitTool>();
  const clashing = clashingNames(definitions);
  for (const definition of definitions) {
    const { name } = definition;
    const refuse = (why: string): void =>
      void losses.push({ tool: name, path: '', message: `The tool is not offered: ${why}.` });
    if (tools.size >= maxTools) refuse(`the API accepts ${maxTools} tools; select tools with include or exclude`);
    else if (clashing.has(name)) refuse('another tool has the same alias');
    else {
      const found: SchemaLoss[] = [];
      const tool = compiledTool(definition, compile, (path, message) => void found.push({ tool: name, path, message }));
      if (typeof tool === 'string') refuse(tool);
      else {
        tools.set(tool.modelName, tool);
        for (const loss of found) losses.push(loss);
      }
    }
  }
  return { tools, losses };
}

/** The tool, or why it cannot be offered. */
function compiledTool(definition: ToolDefinition, compile: CompileSchema, report: ReportLoss): KitTool | string {
  try {
    const { name, description } = definition;
    const inputSchema = copyJson(definition.inputSchema); // a listing is frozen; what a vendor's package gets may be changed
    const portable = portableSchema(inputSchema, report);
    if (!portable) return 'its arguments are not an object';
    return { modelName: aliasOf(name), definition, ...compile(portable, report, { description, inputSchema }) };
  } catch {
    return 'its schema is nested too deeply'; // to be copied, or for the stack
  }
}

/**
 * The names of tools that share an alias, which takes a million attempts within one server. None of them is offered: a model
 * that means one must not run another.
 */
function clashingNames(definitions: readonly ToolDefinition[]): ReadonlySet<string> {
  const byAlias = new Map<string, string>();
  const clashing = new Set<string>();
  for (const { name } of definitions) {
    const alias = aliasOf(name);
    const other = byAlias.get(alias);
    if (other !== undefined) clashing.add(name).add(other);
    byAlias.set(alias, name);
  }
  return clashing;
}
