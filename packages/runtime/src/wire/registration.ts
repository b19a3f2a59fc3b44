// A provider's registration, parsed once. It is accepted or rejected as a whole: this package writes it, not strangers.

import { ToolError, type JsonObject, type ToolAnnotations, type ToolDefinition, type ToolIcon } from '@toolwright/core';
import { isJsonObject, deepFreeze, fillAnnotations, nameFault, plainText } from '@toolwright/core/internal';
import { PROTOCOL_VERSION, speaksProtocol, type ProviderCapabilities } from './protocol.js';

/** A tool of a provider process. */
export interface ListedTool {
  /** Under its qualified name. */
  readonly definition: ToolDefinition;
  /** The name in requests to the provider. */
  readonly bareName: string;
}

/** A provider as it registered. */
export interface Registration {
  readonly version: string;
  readonly description: string;
  readonly tools: readonly ListedTool[];
  readonly pid: number | undefined;
  readonly capabilities: ProviderCapabilities;
}

const MAX_TOOLS = 10_000;
const MAX_FAULTS = 10;
const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

/** @throws {ToolError} PROTOCOL_VIOLATION, permanent, for another name, another protocol or a wrong registration */
export function parseRegistration(params: JsonObject, expectedName: string): Registration {
  const { protocol, name, version, description, tools, pid, capabilities } = params;
  if (!speaksProtocol(protocol)) {
    throw violation(
      `It speaks version ${shown(protocol)} of the protocol, and this host version ${PROTOCOL_VERSION}; ` +
        'use releases of Toolwright that go together.',
    );
  }
  if (name !== expectedName) {
    throw violation(
      `The process that was started as "${expectedName}" registered as ${shown(name)}; ` +
        'give createProvider() and the host the same name.',
    );
  }
  const faults: string[] = [];
  if (typeof version !== 'string') faults.push('version must be a string');
  if (typeof description !== 'string') faults.push('description must be a string');
  const listed = parseTools(tools, expectedName, faults);
  if (faults.length > 0) {
    throw violation(
      `The registration of "${expectedName}" is invalid: ${faults.slice(0, MAX_FAULTS).join('; ')}.`,
      faults.slice(0, MAX_FAULTS),
    );
  }
  return {
    version: version as string,
    description: description as string,
    tools: listed,
    pid: typeof pid === 'number' ? pid : undefined,
    capabilities: isJsonObject(capabilities) ? capabilities : {},
  };
}

/** The tools of a `tools/list`. @throws {ToolError} PROTOCOL_VIOLATION */
export function parseToolList(result: JsonObject, provider: string): readonly ListedTool[] {
  const faults: string[] = [];
  const tools = parseTools(result.tools, provider, faults);
  if (faults.length === 0) return tools;
  throw violation(`The tool list of "${provider}" is invalid: ${faults.slice(0, MAX_FAULTS).join('; ')}.`);
}

function parseTools(given: unknown, provider: string, faults: string[]): ListedTool[] {
  if (!Array.isArray(given)) {
    faults.push('tools must be an array');
    return [];
  }
  if (given.length > MAX_TOOLS) faults.push(`it has ${given.length} tools; the limit is ${MAX_TOOLS}`);
  const names = new Set<unknown>();
  return given.slice(0, MAX_TOOLS).flatMap((each: unknown) => {
    const tool = parseTool(each, provider, faults);
    if (!tool) return [];
    if (names.has(tool.bareName)) faults.push(`two tools are named "${tool.bareName}"`);
    names.add(tool.bareName);
    return [tool];
  });
}

function parseTool(given: unknown, provider: string, faults: string[]): ListedTool | undefined {
  if (!isJsonObject(given)) return void faults.push('a tool must be an object');
  const { name, title, description, inputSchema, outputSchema, annotations, icons, _meta } = given;
  const fault = nameFault("a tool's name", name);
  if (fault !== undefined) return void faults.push(plainText(fault, 200));
  const wrong = (what: string, isWrong: boolean): void => {
    if (isWrong) faults.push(`${what} of the tool "${String(name)}" is malformed`);
  };
  wrong('description', typeof description !== 'string');
  wrong('inputSchema', !isJsonObject(inputSchema));
  wrong('outputSchema', outputSchema !== undefined && !isJsonObject(outputSchema));
  wrong('title', title !== undefined && typeof title !== 'string');
  wrong('icons', icons !== undefined && !Array.isArray(icons));
  wrong('annotations', annotations !== undefined && !isJsonObject(annotations));
  wrong('_meta', _meta !== undefined && !isJsonObject(_meta));
  const definition: ToolDefinition = deepFreeze({
    name: `${provider}.${String(name)}`,
    ...(title !== undefined && { title: title as string }),
    description: description as string,
    inputSchema: inputSchema as JsonObject,
    ...(outputSchema !== undefined && { outputSchema: outputSchema as JsonObject }),
    annotations: annotationsOf(annotations),
    ...(icons !== undefined && { icons: icons as ToolIcon[] }),
    ...(_meta !== undefined && { _meta: _meta as JsonObject }),
  });
  return { definition, bareName: name as string };
}

function annotationsOf(given: unknown): Required<ToolAnnotations> {
  if (!isJsonObject(given)) return fillAnnotations();
  return fillAnnotations(
    Object.fromEntries(HINTS.filter((hint) => typeof given[hint] === 'boolean').map((hint) => [hint, given[hint]])),
  );
}

/** A person has to correct it: another start would fail the same way. */
function violation(message: string, faults?: string[]): ToolError {
  return new ToolError('PROTOCOL_VIOLATION', message, { details: { permanent: true, ...(faults && { faults }) } });
}

function shown(value: unknown): string {
  return value === undefined ? 'none' : plainText(JSON.stringify(value) ?? 'none', 120);
}
