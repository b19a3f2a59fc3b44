// The tools of one provider of a hub: its latest valid list, which of them are hidden and why, and how models see them.

import { ToolError } from '../contract/errors.js';
import { frozenCopy } from '../contract/json-copy.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import type { ToolProvider } from '../contract/tool-provider.js';
import { shownDefinition } from '../provider/shown-definition.js';
import { matchesGlob } from '../provider/name-pattern.js';
import { bareName } from '../provider/prepared-call.js';
import { serverOf, ToolIndex } from '../provider/tool-index.js';
import { fillAnnotations } from '../tool/define-tool.js';
import type { EventStream } from './events.js';
import { quarantineError, type PinApproval, type PinBoard, type QuarantinedTool } from './pins.js';
import type { ProviderEntry } from './provider-entry.js';

/** What a member's tools need of their hub. */
export interface ToolsHost {
  /** True for a tool that the policy denies for all arguments. */
  isHidden(name: string): boolean;
  warn(message: string): void;
  readonly events: EventStream;
}

export class MemberTools {
  /** All tools that the provider lists, visible and {@link hidden}. */
  definitions: readonly ToolDefinition[] = [];
  /** The tools that the hub lists, as models see them. */
  visible: readonly ToolDefinition[] = [];
  /** The tools that are quarantined or not in `allowedTools`, or that the policy denies for all arguments. */
  hidden: readonly ToolDefinition[] = [];
  /** False before the first list, and after a disconnect. */
  isListed = false;
  #quarantined: ReadonlyMap<string, QuarantinedTool> = new Map();
  #index = new ToolIndex<ToolDefinition>([]);
  readonly #provider: ToolProvider;
  readonly #name: string;
  /** Globs over bare names; undefined for all. */
  readonly #allowed: readonly string[] | undefined;
  readonly #host: ToolsHost;
  /** Undefined for a provider that is not pinned. */
  readonly #pins: PinBoard | undefined;

  constructor({ provider, allowedTools }: ProviderEntry, host: ToolsHost, pins: PinBoard | undefined) {
    this.#provider = provider;
    this.#name = provider.name;
    this.#allowed = allowedTools && [...allowedTools];
    this.#host = host;
    this.#pins = pins;
  }

  /** The tool of a name in the latest list. */
  get(name: string): ToolDefinition | undefined {
    return this.#index.get(name);
  }

  get quarantined(): readonly QuarantinedTool[] {
    return [...this.#quarantined.values()];
  }

  /** The error for an unknown name, with the most similar visible names. */
  notFound(name: string): ToolError {
    const index = new ToolIndex(this.visible.map((tool) => [tool.name, tool] as const));
    return index.notFound(name, `The provider "${this.#name}"`);
  }

  /** A tool of the provider as models see it: what foreign servers describe is cleaned. */
  shown(tool: ToolDefinition): ToolDefinition {
    return this.#provider.kind === 'in-process' ? tool : shownDefinition(tool);
  }

  /**
   * Adopts a list. Returns true when it differs from the one before.
   *
   * @param servers the provider's prefixes; a tool without one of them is left out
   * @throws {ToolError} PROTOCOL_VIOLATION for what is not a list
   */
  adopt(listed: readonly ToolDefinition[], servers: readonly string[]): boolean {
    if (!Array.isArray(listed)) throw new ToolError('PROTOCOL_VIOLATION', 'listTools() did not return an array');
    const valid = this.#valid(listed as readonly ToolDefinition[], servers);
    const isSame = this.isListed && isSameList(this.definitions, valid);
    this.isListed = true;
    if (isSame) return false; // the list before keeps the validators compiled for it
    this.definitions = valid;
    this.#checkAllowed();
    this.#quarantine();
    this.updateHidden();
    this.#index = new ToolIndex(this.definitions.map((tool) => [tool.name, tool] as const));
    return true;
  }

  #valid(listed: readonly ToolDefinition[], servers: readonly string[]): ToolDefinition[] {
    const names = new Set<string>();
    return listed.map(listedDefinition).filter((tool): tool is ToolDefinition => {
      if (!tool || names.has(tool.name)) {
        this.#host.warn(`A malformed or duplicate tool of the provider "${this.#name}" was left out.`);
        return false;
      }
      names.add(tool.name);
      const server = serverOf(tool.name);
      if (server !== undefined && servers.includes(server)) return true;
      this.#host.warn(
        `The tool "${tool.name}" does not start with a prefix of its provider "${this.#name}" (${servers.join(', ')}) and was left out.`,
      );
      return false;
    });
  }

  /** Determines again which tools are hidden. Returns true when that has changed. */
  updateHidden(): boolean {
    const before = this.hidden;
    const hidden = this.definitions.filter(
      ({ name }) => this.#quarantined.has(name) || !this.#isAllowed(name) || this.#host.isHidden(name),
    );
    this.hidden = hidden;
    const visible = hidden.length === 0 ? this.definitions : this.definitions.filter((tool) => !hidden.includes(tool));
    this.visible = visible.map((tool) => this.shown(tool));
    return before.length !== hidden.length || before.some((tool, at) => tool !== hidden[at]);
  }

  /** The error for a tool of a pinned provider that is not approved, or that is not in `allowedTools`; else undefined. */
  refusalOf(tool: ToolDefinition): ToolError | undefined {
    if (!this.#isAllowed(tool.name))
      return new ToolError(
        'PERMISSION_DENIED',
        `The tool "${tool.name}" is not in the allowedTools of the provider "${this.#name}".`,
        { provider: this.#name, tool: tool.name },
      );
    if (!this.#pins) return undefined;
    // A provider prepares its own definition, whose hints the hub has filled in for its list.
    const row = this.#pins.quarantined(this.#name, completed(tool));
    return row && quarantineError(this.#name, row);
  }

  #isAllowed(name: string): boolean {
    return !this.#allowed || this.#allowed.some((glob) => matchesGlob(glob, bareName(name)));
  }

  /** Warns of globs that match no tool, which hide what they were to allow. */
  #checkAllowed(): void {
    if (!this.#allowed || this.definitions.length === 0) return;
    const names = this.definitions.map(({ name }) => bareName(name));
    for (const glob of this.#allowed) {
      if (names.some((name) => matchesGlob(glob, name))) continue;
      this.#host.warn(
        `"${glob}" in the allowedTools of the provider "${this.#name}" matches none of its tools. Use globs over names without ` +
          `the server, such as "${names[0]}".`,
      );
    }
  }

  /** Approves tools, or all of them with the provider's command or URL. @throws {ToolError} as {@link PinBoard.approve} */
  async approve(approvals: readonly PinApproval[] | undefined): Promise<void> {
    if (!this.#pins) {
      const message = `The provider "${this.#name}" is not pinned: add it as { provider, pinned: true }.`;
      throw new ToolError('INVALID_ARGUMENT', message, { provider: this.#name });
    }
    await this.#pins.approve(this.#name, this.#provider.sourceHash, this.definitions, approvals);
    this.#quarantine();
  }

  #quarantine(): void {
    if (!this.#pins) return;
    this.#quarantined = this.#pins.quarantine(this.#name, this.#provider.sourceHash, this.definitions);
    for (const { name: tool, reason, difference } of this.#quarantined.values())
      this.#host.events.emit('pin.quarantined', { provider: this.#name, tool, data: { reason, difference } });
  }
}

function isSameList(before: readonly ToolDefinition[], after: readonly ToolDefinition[]): boolean {
  if (before.length !== after.length) return false;
  try {
    return before.every(
      (tool, index) => tool === after[index] || JSON.stringify(tool) === JSON.stringify(after[index]),
    );
  } catch {
    return false; // nested too deeply to compare
  }
}

/**
 * A listed tool as the hub lists and enforces it: frozen, with all four hints. Undefined for a malformed tool, which does not
 * affect the others.
 */
function listedDefinition(given: ToolDefinition): ToolDefinition | undefined {
  try {
    const { name, title, description, inputSchema } = (given as Partial<ToolDefinition> | null) ?? {};
    if (typeof name !== 'string' || typeof inputSchema !== 'object' || (inputSchema as unknown) === null)
      return undefined;
    if (!isTextOrAbsent(title) || !isTextOrAbsent(description)) return undefined;
    return frozenCopy(completed(given));
  } catch {
    return undefined; // an accessor that throws
  }
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'string';
}

/** The tool with a description and all hints: MCP's defaults apply to what a provider left out. */
function completed(tool: ToolDefinition): ToolDefinition {
  const { annotations, description } = tool as Partial<ToolDefinition>;
  if (description !== undefined && hasAllHints(annotations)) return tool;
  return { ...tool, description: description ?? '', annotations: fillAnnotations(annotations) };
}

function hasAllHints(annotations: ToolDefinition['annotations'] | undefined): boolean {
  if (annotations === undefined) return false;
  return ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'].every((hint) => hint in annotations);
}
