// Pins: the approved definitions of foreign tools. A tool of a pinned provider that is new or has changed is quarantined until
// it is approved, and a provider whose command or URL has changed is not connected.

import { sha256 } from '../adapters/sha256.js';
import { canonicalJson } from '../contract/canonical-json.js';
import { ToolError } from '../contract/errors.js';
import { isJsonObject, type JsonObject } from '../contract/json.js';
import { withVisibleEscapes } from '../contract/visible-text.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import { bareName } from '../provider/prepared-call.js';

/** The approved tools of all pinned providers, by provider name. JSON. */
export type Pins = Record<string, ProviderPins>;

/** The approved tools of one provider. */
export interface ProviderPins {
  /** The provider's `sourceHash` when it was approved. Absent for a provider without one. */
  source?: string;
  /** The approved tools, by qualified name. */
  tools: Record<string, Pin>;
}

/** One approved tool. */
export interface Pin {
  /** The SHA-256 of the canonical JSON (RFC 8785) of {@link definition}, in hexadecimal. Decides what is approved. */
  sha256: string;
  /** What was approved: name, title, description, schemas and annotations. Explains what has changed since. */
  definition: JsonObject;
}

/** Where a hub keeps its pins, such as a file. One hub at a time may use it. */
export interface PinStore {
  /** Returns the pins that were saved; undefined before the first save. */
  load(): Pins | undefined | Promise<Pins | undefined>;
  /** Saves all pins. */
  save(pins: Pins): void | Promise<void>;
  /**
   * What happens to the tools of a provider that has no pins yet: `'trust'` approves what it lists first, `'quarantine'`
   * approves nothing. Default `'trust'`.
   */
  firstUse?: 'trust' | 'quarantine';
}

/** A tool that waits for approval. */
export interface QuarantinedTool {
  /** The qualified name. */
  name: string;
  /** Whether it was never approved, or has changed since. */
  reason: 'new' | 'changed';
  /** What is not approved, in one line, with invisible characters written out. */
  difference: string;
  /** The SHA-256 of its definition. Pass the row to {@link ToolHub.approvePins} to approve this definition and no later one. */
  sha256: string;
}

/** A tool to approve: whatever definition it has now, or only the one with this hash. */
export type PinApproval = string | Readonly<Pick<QuarantinedTool, 'name' | 'sha256'>>;

const PINNED_KEYS = ['name', 'title', 'description', 'inputSchema', 'outputSchema', 'annotations'] as const;
const MAX_SHOWN = 60;
const MAX_DIFFERENCES = 5;
const MAX_COMPARED_DEPTH = 64;

/** The pins of one hub. */
export class PinBoard {
  readonly #store: PinStore;
  readonly #warn: (message: string) => void;
  #pins: Pins | undefined;
  #loading: Promise<void> | undefined;
  #saving: Promise<void> = Promise.resolve();

  /** @throws {ToolError} INVALID_ARGUMENT */
  constructor(store: PinStore, warn: (message: string) => void) {
    const { load, save, firstUse } = Object(store) as Partial<PinStore>;
    if (typeof load !== 'function' || typeof save !== 'function')
      throw new ToolError('INVALID_ARGUMENT', 'new ToolHub(): pins must have the functions load and save.');
    if (firstUse !== undefined && firstUse !== 'trust' && firstUse !== 'quarantine')
      throw new ToolError('INVALID_ARGUMENT', 'new ToolHub(): pins.firstUse must be "trust" or "quarantine".');
    this.#store = store;
    this.#warn = warn;
  }

  /** Loads the pins, once. @throws {ToolError} UNAVAILABLE when they cannot be loaded: nothing is approved then */
  load(): Promise<void> {
    return (this.#loading ??= this.#load().catch((thrown: unknown) => {
      this.#loading = undefined; // the next connection tries again
      throw thrown;
    }));
  }

  async #load(): Promise<void> {
    if (this.#pins) return;
    try {
      this.#pins = parsePins(await this.#store.load());
    } catch (thrown) {
      throw new ToolError('UNAVAILABLE', `The pins could not be loaded: ${ToolError.from(thrown).message}`);
    }
  }

  /** @throws {ToolError} PERMISSION_DENIED when the provider runs or connects to something that was not approved */
  assertSource(provider: string, source: string | undefined): void {
    const pinned = this.#of(provider);
    if (!pinned || pinned.source === source) return;
    throw new ToolError(
      'PERMISSION_DENIED',
      `The command, the arguments or the URL of the pinned provider "${provider}" changed since they were approved, so it ` +
        `was not started. Check them, then call approvePins(${JSON.stringify(provider)}).`,
      { provider },
    );
  }

  /** The tools that are not approved, by name. The first list of a provider is approved if the store trusts first use. */
  quarantine(
    provider: string,
    source: string | undefined,
    tools: readonly ToolDefinition[],
  ): ReadonlyMap<string, QuarantinedTool> {
    const known = this.#of(provider);
    if (!known && this.#store.firstUse !== 'quarantine') {
      this.#put(provider, source, tools);
      return new Map();
    }
    const rows = tools.map((tool) => this.quarantined(provider, tool)).filter((row) => row !== undefined);
    return new Map(rows.map((row) => [row.name, row]));
  }

  /** Why this definition of a tool is not approved; undefined for one that is. */
  quarantined(provider: string, tool: ToolDefinition): QuarantinedTool | undefined {
    const approved = this.#of(provider)?.tools ?? {};
    const { sha256: hash, definition } = pinOf(tool);
    const before = Object.hasOwn(approved, tool.name) ? approved[tool.name] : undefined;
    if (before?.sha256 === hash) return undefined;
    return {
      name: tool.name,
      reason: before ? 'changed' : 'new',
      difference: before ? differenceOf(before.definition, definition) : 'It was never approved.',
      sha256: hash,
    };
  }

  /**
   * Approves tools of a provider: those that are named, or all that it lists, with its command or URL.
   *
   * @throws {ToolError} TOOL_NOT_FOUND for a name that is not listed; INVALID_ARGUMENT when the definition is not the one to approve, or
   *   the name means several tools
   */
  async approve(
    provider: string,
    source: string | undefined,
    listed: readonly ToolDefinition[],
    approvals: readonly PinApproval[] | undefined,
  ): Promise<readonly ToolDefinition[]> {
    await this.load();
    const tools = approvals ? approvals.map((approval) => approvedTool(provider, listed, approval)) : listed;
    // Named tools do not approve a changed command.
    this.#put(provider, approvals ? (this.#of(provider)?.source ?? source) : source, tools);
    await this.#saving;
    return tools;
  }

  #of(provider: string): ProviderPins | undefined {
    return this.#pins && Object.hasOwn(this.#pins, provider) ? this.#pins[provider] : undefined;
  }

  #put(provider: string, source: string | undefined, tools: readonly ToolDefinition[]): void {
    const approved = tools.map((tool) => [tool.name, pinOf(tool)] as const);
    const entry: ProviderPins = {
      ...(source !== undefined && { source }),
      tools: { ...this.#of(provider)?.tools, ...Object.fromEntries(approved) },
    };
    this.#pins = Object.fromEntries([...Object.entries(this.#pins ?? {}), [provider, entry]]);
    const pins = structuredClone(this.#pins);
    this.#saving = this.#saving
      .then(() => this.#store.save(pins))
      .catch((thrown: unknown) =>
        this.#warn(`The pins could not be saved, so they last as long as this hub: ${ToolError.from(thrown).message}`),
      );
  }
}

const pinsOfTools = new WeakMap<ToolDefinition, Pin>();

function pinOf(tool: ToolDefinition): Pin {
  let pin = pinsOfTools.get(tool);
  if (!pin) {
    const definition = Object.fromEntries(
      PINNED_KEYS.flatMap((key) => (tool[key] === undefined ? [] : [[key, tool[key]]])),
    );
    const text = canonicalJson(definition) ?? JSON.stringify(definition);
    pin = { sha256: Buffer.from(sha256(text)).toString('hex'), definition: JSON.parse(text) as JsonObject };
    pinsOfTools.set(tool, pin);
  }
  return pin;
}

function approvedTool(provider: string, listed: readonly ToolDefinition[], approval: PinApproval): ToolDefinition {
  const name = typeof approval === 'string' ? approval : approval.name;
  // A bare name is all that follows the server: a server may list "files.other.read" beside "files.read".
  const bare = listed.filter((one) => bareName(one.name) === name);
  const tool = listed.find((one) => one.name === name) ?? bare[0];
  if (tool && tool.name !== name && bare.length > 1)
    throw new ToolError(
      'INVALID_ARGUMENT',
      `The provider "${provider}" lists several tools "${name}": approve ${bare.map((one) => one.name).join(' or ')}.`,
      { provider },
    );
  if (!tool)
    throw new ToolError('TOOL_NOT_FOUND', `The provider "${provider}" lists no tool "${name}" to approve.`, {
      provider,
    });
  if (typeof approval === 'string' || pinOf(tool).sha256 === approval.sha256) return tool;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `The tool "${tool.name}" changed again since it was shown; read status() and approve the new definition.`,
    { provider, tool: tool.name },
  );
}

/** The error for a call of a tool that is not approved. */
export function quarantineError(
  provider: string,
  { name, reason, difference, sha256: hash }: QuarantinedTool,
): ToolError {
  const what = reason === 'new' ? 'is new' : `changed since it was approved: ${difference}`;
  return new ToolError(
    'PERMISSION_DENIED',
    `The tool "${name}" of the pinned provider "${provider}" ${what.replace(/\.$/, '')}. It is quarantined until the host ` +
      `calls approvePins(${JSON.stringify(provider)}).`,
    { provider, tool: name, details: { quarantined: reason, sha256: hash } },
  );
}

/** What changed between two definitions, in one line. */
function differenceOf(before: JsonObject, after: JsonObject): string {
  const found: string[] = [];
  compare(before, after, '', 0, found);
  if (found.length === 0) return 'It was changed.';
  const more = found.length > MAX_DIFFERENCES ? `; and ${found.length - MAX_DIFFERENCES} more` : '';
  return `${found.slice(0, MAX_DIFFERENCES).join('; ')}${more}.`;
}

function compare(before: unknown, after: unknown, path: string, depth: number, found: string[]): void {
  if (canonicalJson(before) === canonicalJson(after)) return;
  const isDeeper = depth < MAX_COMPARED_DEPTH && isJsonObject(before) && isJsonObject(after);
  if (!isDeeper) return void found.push(`${path.slice(1)}: ${shownChange(before, after)}`);
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
    compare(
      own(before, key),
      own(after, key),
      `${path}.${withVisibleEscapes(key.slice(0, MAX_SHOWN))}`,
      depth + 1,
      found,
    );
}

function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function shownChange(before: unknown, after: unknown): string {
  if (before === undefined) return `added ${excerpt(after, 0)}`;
  if (after === undefined) return 'removed';
  if (typeof before !== 'string' || typeof after !== 'string') return `${excerpt(before, 0)} → ${excerpt(after, 0)}`;
  let at = 0;
  while (before[at] === after[at]) at++;
  const from = Math.max(0, at - MAX_SHOWN / 3);
  return `${excerpt(before, from)} → ${excerpt(after, from)}`;
}

function excerpt(value: unknown, from: number): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing');
  const part = withVisibleEscapes(text.slice(from, from + MAX_SHOWN));
  return `"${from > 0 ? '…' : ''}${part}${from + MAX_SHOWN < text.length ? '…' : ''}"`;
}

/** @throws {ToolError} INVALID_ARGUMENT */
function parsePins(value: unknown): Pins {
  if (value === undefined || value === null) return {};
  const isPins =
    isJsonObject(value) &&
    Object.values(value).every(
      (entry) =>
        isJsonObject(entry) &&
        isJsonObject(entry.tools) &&
        Object.values(entry.tools).every((pin) => isJsonObject(pin) && typeof pin.sha256 === 'string'),
    );
  if (!isPins) throw new ToolError('INVALID_ARGUMENT', 'pins.load() must return what pins.save() received');
  return structuredClone(value) as Pins;
}
