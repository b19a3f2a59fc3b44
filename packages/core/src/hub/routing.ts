// Maps tool names to members, and merges their lists. Name conflicts are rejected on registration.

import { aliasOf } from '../adapters/alias.js';
import { ToolError } from '../contract/errors.js';
import { serverOf, ToolIndex } from '../provider/tool-index.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import type { HubMember } from './member.js';

/** The member that a call is routed to, and the qualified name of the tool. */
export interface Route {
  readonly member: HubMember;
  readonly name: string;
}

interface Catalog {
  readonly definitions: readonly ToolDefinition[];
  readonly listed: ToolIndex<string>;
  readonly bare: ToolIndex<Route>;
  readonly bareHidden: ToolIndex<Route>;
  /** By alias; built on first use, when a name is found nowhere else. */
  hidden: ReadonlyMap<string, Route> | undefined;
}

/** The members of a hub, in the order they were added. */
export class Routing {
  readonly #members = new Map<string, HubMember>();
  readonly #byServer = new Map<string, HubMember>();
  #catalog: Catalog | undefined;

  get members(): readonly HubMember[] {
    return [...this.#members.values()];
  }

  get servers(): readonly string[] {
    return [...this.#byServer.keys()];
  }

  /** @throws {ToolError} NAME_CONFLICT when its name or one of its prefixes is taken */
  add(member: HubMember): void {
    const { name } = member;
    if (this.#members.has(name)) {
      throw new ToolError('NAME_CONFLICT', `The hub has a provider "${name}" already; give one of them another name.`, {
        provider: name,
      });
    }
    for (const server of member.servers) {
      const owner = this.#byServer.get(server);
      if (owner) {
        throw new ToolError(
          'NAME_CONFLICT',
          `The prefix "${server}" of the provider "${name}" belongs to the provider "${owner.name}"; rename one.`,
          {
            provider: name,
            details: { prefix: server, owner: owner.name },
          },
        );
      }
    }
    this.#members.set(name, member);
    for (const server of member.servers) this.#byServer.set(server, member);
    this.invalidate();
  }

  remove(name: string): HubMember | undefined {
    const member = this.#members.get(name);
    if (!member) return undefined;
    this.#members.delete(name);
    for (const server of member.servers) this.#byServer.delete(server);
    this.invalidate();
    return member;
  }

  /** Adopts prefixes that were added after registration, as a nested hub's may be. Those of another member are left out. */
  adoptServers(member: HubMember, warn: (message: string) => void): void {
    if (this.#members.get(member.name) !== member) return;
    const claimed = member.readServers();
    for (const server of member.servers) this.#byServer.delete(server);
    member.servers = claimed.filter((server) => {
      const owner = this.#byServer.get(server);
      if (!owner) return true;
      warn(`The prefix "${server}" of the provider "${member.name}" belongs to "${owner.name}" and was left out.`);
      return false;
    });
    for (const server of member.servers) this.#byServer.set(server, member);
    this.invalidate();
  }

  /** The member that owns the prefix of a qualified name; known before anything is connected. */
  ownerOf(name: string): HubMember | undefined {
    const server = serverOf(name);
    return server === undefined ? undefined : this.#byServer.get(server);
  }

  /** The names of all listed tools, and the prefixes whose tools are not listed yet. */
  get known(): readonly [names: readonly string[], unlisted: readonly string[]] {
    return [
      this.members.flatMap(({ tools }) => tools.definitions.map(({ name }) => name)),
      this.members.flatMap(({ tools, servers }) => (tools.isListed ? [] : servers)),
    ];
  }

  /** The in-process tool of a bare name; foreign tools need their qualified name. */
  resolveBare(name: string): Route | undefined {
    const { bare, bareHidden } = this.#read();
    // A listed tool wins over a hidden one of the same name.
    return bare.get(name) ?? (bare.has(name) ? undefined : bareHidden.get(name));
  }

  /** The hidden tool of an alias, so that a model that still knows it learns that it is denied. */
  resolveHidden(alias: string): Route | undefined {
    const catalog = this.#read();
    catalog.hidden ??= new Map(
      this.members.flatMap((member) =>
        member.tools.hidden.map(({ name }) => [aliasOf(name), { member, name }] as const),
      ),
    );
    return catalog.hidden.get(alias);
  }

  /** The error for an unknown name, with the most similar listed names. */
  notFound(name: unknown): ToolError {
    return this.#read().listed.notFound(name, 'The hub');
  }

  /** The merged list, cached until something changes. */
  get definitions(): readonly ToolDefinition[] {
    return this.#read().definitions;
  }

  invalidate(): void {
    this.#catalog = undefined;
  }

  #read(): Catalog {
    if (this.#catalog) return this.#catalog;
    const { members } = this;
    const definitions = members.flatMap((member) => member.tools.visible);
    return (this.#catalog = {
      definitions: Object.freeze(definitions),
      listed: new ToolIndex(definitions.map(({ name }) => [name, name] as const)),
      bare: routesOf(members, ({ tools }) => tools.visible),
      bareHidden: routesOf(members, ({ tools }) => tools.hidden),
      hidden: undefined,
    });
  }
}

/** The in-process tools, by name. */
function routesOf(
  members: readonly HubMember[],
  toolsOf: (member: HubMember) => readonly ToolDefinition[],
): ToolIndex<Route> {
  const inProcess = members.filter(({ provider }) => provider.kind === 'in-process');
  return new ToolIndex(
    inProcess.flatMap((member) => toolsOf(member).map(({ name }) => [name, { member, name }] as const)),
  );
}
