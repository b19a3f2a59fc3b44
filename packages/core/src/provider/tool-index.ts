// Finds tools by qualified name, or by bare name if that is unique. A name with a dot is qualified.

import { ToolError } from '../contract/errors.js';
import { nearestNames } from '../contract/nearest-names.js';

/** The server part of a qualified name, split at the first dot; undefined for a bare name. */
export function serverOf(name: string): string | undefined {
  const dot = name.indexOf('.');
  return dot < 0 ? undefined : name.slice(0, dot);
}

/** Entries by qualified name, also found by bare name. */
export class ToolIndex<Entry> {
  readonly #byName = new Map<string, Entry>();
  /** Bare name -> the qualified names with it. */
  readonly #byBareName = new Map<string, string[]>();

  constructor(entries: Iterable<readonly [qualifiedName: string, entry: Entry]>) {
    for (const [name, entry] of entries) {
      this.#byName.set(name, entry);
      const bare = name.slice(name.indexOf('.') + 1);
      const names = this.#byBareName.get(bare);
      if (names) names.push(name);
      else this.#byBareName.set(bare, [name]);
    }
  }

  /** The entry of a qualified name, or of a bare name that is unique. */
  get(name: string): Entry | undefined {
    const entry = this.#byName.get(name);
    if (entry !== undefined) return entry;
    const names = this.#byBareName.get(name);
    if (names?.length !== 1 || serverOf(name) !== undefined) return undefined;
    return this.#byName.get(names[0] as string);
  }

  /** True for a qualified name, and for a bare name of one or more tools. */
  has(name: string): boolean {
    return this.#byName.has(name) || this.#byBareName.has(name);
  }

  /** The error for a name that `get` does not find, with the most similar names. */
  notFound(name: unknown, where: string): ToolError {
    if (typeof name !== 'string') {
      return new ToolError(
        'TOOL_NOT_FOUND',
        `A tool's name must be a string such as "server.tool", not ${describe(name)}.`,
      );
    }
    const shared = serverOf(name) === undefined ? this.#byBareName.get(name) : undefined;
    if (shared && shared.length > 1) {
      const names = shared.join(', ');
      return new ToolError('TOOL_NOT_FOUND', `Several tools are called "${name}": use one of ${names}.`, {
        tool: name,
        details: { nearest: shared },
      });
    }
    const nearest = serverOf(name) === undefined ? this.#nearestBare(name) : nearestNames(name, this.#byName.keys());
    const hint = nearest.length > 0 ? `The nearest are ${nearest.join(', ')}.` : 'It has no tools.';
    return new ToolError('TOOL_NOT_FOUND', `${where} has no tool "${shorten(name)}". ${hint}`, {
      tool: shorten(name),
      details: { nearest },
    });
  }

  #nearestBare(name: string): string[] {
    return nearestNames(name, this.#byBareName.keys())
      .flatMap((bare) => this.#byBareName.get(bare) ?? [])
      .slice(0, 3);
  }
}

function describe(value: unknown): string {
  return value === null ? 'null' : `a value of type ${typeof value}`;
}

function shorten(name: string): string {
  return name.length > 160 ? `${name.slice(0, 160)}…` : name;
}
