// deferredTools(): three tools in place of all tools of a hub. A model searches the others, reads their schemas, and calls them;
// each such call is a call of the hub, with its policy.

import { aliasOf } from '../adapters/alias.js';
import { ToolError } from '../contract/errors.js';
import type { JsonObject } from '../contract/json.js';
import { nearestNames } from '../contract/nearest-names.js';
import { assertOptions, type OptionNames } from '../contract/options.js';
import type { ToolOutput, ToolResult } from '../contract/result.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import type { CallOptions, PreparedCall } from '../contract/tool-provider.js';
import { delegating, delegationOf } from '../provider/delegation.js';
import { rejectedCall } from '../provider/prepared-call.js';
import { assertSelection, selectTools, type ToolSelection } from '../provider/tool-selection.js';
import { errorResult } from '../contract/result.js';
import { defineServer, type ToolServer } from '../tool/define-server.js';
import { defineTool, type Tool, type ToolContext } from '../tool/define-tool.js';
import { hints, objectSchema } from '../tool/object-schema.js';
import type { ToolHub } from './hub.js';

/** Options of {@link deferredTools}. `include` and `exclude` select which tools are found, described and called. */
export interface DeferredToolsOptions extends ToolSelection {
  /** The name of the server, the prefix of its tools. Default: `tools`. */
  name?: string;
}

const OPTIONS: OptionNames<DeferredToolsOptions> = { name: true, include: true, exclude: true };
const DEFAULT_FOUND = 5;
const MAX_FOUND = 20;
const MAX_DESCRIBED = 20;
/** Characters of a description that find_tools shows: it tells which tool to describe. */
const MAX_SUMMARY = 200;

/**
 * A server with `find_tools`, `describe_tool` and `call_tool`, through which a model uses any number of tools for the price of
 * three.
 *
 * Run it in a provider of its own, or add that provider to the hub to list some tools directly and find the others. `call_tool`
 * makes an ordinary call of the hub for its caller, so session, approvals, progress, cancellation and directives are those of
 * that call. If the hub has a policy, it evaluates that call; the three tools themselves are not asked about, but a rule may deny
 * them. They do not find, and `call_tool` does not call, tools of such a server.
 *
 * @param hub remains the caller's: connect and disconnect it as usual
 * @throws {ToolError} INVALID_ARGUMENT for a wrong option
 * @example
 * ```ts
 * const hub = new ToolHub({ providers });
 * const deferred = new InProcessToolProvider({ servers: [deferredTools(hub)] });
 * const kit = await openaiTools(deferred, { sessionId });
 * ```
 */
export function deferredTools(hub: ToolHub, options: DeferredToolsOptions = {}): ToolServer {
  if (typeof (hub as Partial<ToolHub> | undefined)?.search !== 'function')
    throw new ToolError('INVALID_ARGUMENT', 'deferredTools() takes a ToolHub as its first argument.');
  assertOptions('deferredTools()', options, OPTIONS);
  assertSelection(options);
  const { name = 'tools', ...selection } = options;
  const offered = new OfferedTools(hub, selection);
  return defineServer({
    name,
    version: '0.2.0',
    keepsSessionState: true, // the tools that it calls may
    tools: [
      delegating(findTool(hub, offered), { hub }),
      delegating(describeTool(offered), { hub }),
      delegating(callTool(hub, offered), {
        hub,
        prepare: (args: CallArguments, ctx) => offered.prepare(args, ctx),
      }),
    ],
  });
}

interface CallArguments {
  name: string;
  arguments?: JsonObject;
}

/** The tools of a hub that a deferred server offers. */
class OfferedTools {
  readonly #hub: ToolHub;
  readonly selection: ToolSelection;

  constructor(hub: ToolHub, selection: ToolSelection) {
    this.#hub = hub;
    this.selection = selection;
  }

  async list(signal: AbortSignal): Promise<readonly ToolDefinition[]> {
    const tools = await this.#hub.listTools({ signal });
    return selectTools(tools, this.selection).filter((tool) => !delegationOf(tool));
  }

  /**
   * An offered tool by its name or alias. Only the name of a tool that the hub denies, whose refusal then says why.
   *
   * @throws {ToolError} TOOL_NOT_FOUND
   */
  async resolve(given: string, signal: AbortSignal): Promise<{ name: string; tool?: ToolDefinition }> {
    const tools = await this.list(signal);
    const tool = tools.find(({ name }) => name === given) ?? tools.find(({ name }) => aliasOf(name) === given);
    if (tool) return { name: tool.name, tool };
    const { hidden, name } = await this.#hub.explain(given);
    if (hidden) return { name };
    const nearest = nearestNames(
      given,
      tools.map((one) => one.name),
    );
    const hint = nearest.length > 0 ? ` The nearest are ${nearest.join(', ')}.` : '';
    throw new ToolError(
      'TOOL_NOT_FOUND',
      `There is no tool "${given.slice(0, 160)}" to call.${hint} Search with find_tools.`,
      { details: { nearest } },
    );
  }

  /** The call of the hub that a call of `call_tool` stands for. Runs nothing. */
  async prepare({ name, arguments: args = {} }: CallArguments, ctx: ToolContext): Promise<PreparedCall> {
    try {
      const { name: qualified } = await this.resolve(name, ctx.signal);
      const prepared = await this.#hub.prepareCall(qualified, args, optionsFor(ctx));
      return prepared.refused ? { ...prepared, refused: withHint(prepared.refused, qualified) } : prepared;
    } catch (thrown) {
      return rejectedCall(name, undefined, args, errorResult(ToolError.from(thrown), performance.now()));
    }
  }
}

function findTool(hub: ToolHub, offered: OfferedTools): Tool {
  return defineTool({
    name: 'find_tools',
    title: 'Find tools',
    description:
      'Search the tools that are available but not listed. Say what the tool should do, with the service if you know it. ' +
      'Then use describe_tool and call_tool.',
    input: objectSchema(
      { query: { type: 'string', minLength: 1, description: 'What it should do, such as: create a GitHub issue.' } },
      { limit: { type: 'integer', minimum: 1, maximum: MAX_FOUND, default: DEFAULT_FOUND } },
    ),
    output: objectSchema({
      tools: { type: 'array', items: objectSchema({ name: { type: 'string' }, description: { type: 'string' } }) },
    }),
    annotations: hints('readOnly', 'idempotent'),
    async execute({ query, limit = DEFAULT_FOUND }, { signal }) {
      const found = await hub.search(query, { ...offered.selection, limit, signal });
      const tools = found.map(({ name, description }) => ({ name, description: summaryOf(description) }));
      if (tools.length > 0)
        return answer(tools.map(({ name, description }) => `${name}: ${description}`).join('\n'), { tools });
      const servers = new Set((await offered.list(signal)).map(({ name }) => name.slice(0, name.indexOf('.'))));
      const where = servers.size > 0 ? `the tools of ${[...servers].join(', ')}` : 'no tools at all';
      return answer(`Nothing fits. Search with other words; there are ${where}.`, { tools });
    },
  });
}

function describeTool(offered: OfferedTools): Tool {
  return defineTool({
    name: 'describe_tool',
    title: 'Describe tools',
    description: 'Show the description and the arguments of tools that find_tools found.',
    input: objectSchema({
      names: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MAX_DESCRIBED },
    }),
    annotations: hints('readOnly', 'idempotent'),
    async execute({ names }, { signal }) {
      const tools: JsonObject[] = [];
      const faults: ToolError[] = [];
      for (const given of new Set(names)) {
        try {
          const { name, tool } = await offered.resolve(given, signal);
          if (!tool) throw new ToolError('PERMISSION_DENIED', `${name} is not available.`);
          tools.push(describedForm(tool));
        } catch (thrown) {
          faults.push(ToolError.from(thrown));
        }
      }
      if (tools.length === 0 && faults[0]) throw faults[0];
      const problems = faults.map(({ message }) => message);
      const text = [...tools.map((tool) => JSON.stringify(tool)), ...problems].join('\n');
      return answer(text, { tools, ...(problems.length > 0 && { problems }) });
    },
  });
}

function callTool(hub: ToolHub, offered: OfferedTools): Tool {
  return defineTool({
    name: 'call_tool',
    title: 'Call a tool',
    description: 'Call a tool that find_tools found. Its arguments are those that describe_tool shows.',
    input: objectSchema(
      { name: { type: 'string', minLength: 1, description: 'The name of the tool, such as github.create_issue.' } },
      { arguments: { type: 'object', description: "The tool's arguments. Default: none." } },
    ),
    async execute({ name, arguments: args = {} }, ctx) {
      const { name: qualified } = await offered.resolve(name, ctx.signal);
      return outputOf(withHint(await hub.callTool(qualified, args, optionsFor(ctx)), qualified));
    },
  });
}

/** The caller's options; the called tool has its own deadline within the caller's. */
function optionsFor(ctx: ToolContext): CallOptions {
  const { timeoutMs: _none, ...options } = ctx.nested;
  return options;
}

/** After wrong arguments, the model learns where the right ones are. */
function withHint(result: ToolResult, name: string): ToolResult {
  if (result.error?.code !== 'INVALID_ARGUMENT') return result;
  const hint = { type: 'text', text: `describe_tool shows the arguments of ${name}.` } as const;
  return { ...result, content: [...result.content, hint] };
}

/** A result as the output of the tool that passes it on. */
function outputOf({ content, structuredContent, isError, error, directives, _meta }: ToolResult): ToolOutput {
  return {
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    isError,
    ...(error && { error: new ToolError(error.code, error.message, error) }),
    directives,
    ...(_meta && { _meta }),
  };
}

function answer<Structured>(text: string, structuredContent: Structured): ToolOutput<Structured> {
  return { content: [{ type: 'text', text }], structuredContent };
}

function describedForm({ name, description, inputSchema, outputSchema }: ToolDefinition): JsonObject {
  return { name, description, inputSchema, ...(outputSchema && { outputSchema }) };
}

/** The first sentence or line of a description, or its beginning. */
function summaryOf(description: string): string {
  const [first = ''] = /^.{20,}?(?:[.!?](?=\s)|\n|$)/s.exec(description.trim()) ?? [description];
  const line = first.replace(/\s+/g, ' ').trim();
  return line.length <= MAX_SUMMARY ? line : `${line.slice(0, MAX_SUMMARY - 1)}…`;
}
