// Configuration files of other tools, as configurations of ours. What has no counterpart is reported, one line each.

import { basename, extname } from 'node:path';
import { isJsonObject } from '@toolwright/core/internal';
import type { JsonObject } from '@toolwright/core';
import type { ConfigPath } from './config-source.js';

/** A foreign file, read. */
export interface ForeignConfig {
  /** In the format of CONFIG_SCHEMA, not validated. */
  readonly value: JsonObject;
  /** What is not supported: the place in the file, and what to do instead. */
  readonly notices: readonly ForeignNotice[];
}

/** Something of a foreign file that has no effect. */
export interface ForeignNotice {
  readonly path: ConfigPath;
  readonly message: string;
}

/** Where each tool keeps its servers. */
const SERVER_KEYS: readonly ConfigPath[] = [
  ['mcpServers'], // Claude, Cursor, Cline, Windsurf, Gemini CLI, Kiro
  ['servers'], // VS Code's mcp.json
  ['mcp_servers'], // Codex
  ['mcp', 'servers'], // VS Code's settings.json
  ['context_servers'], // Zed
  ['mcp'], // opencode
];
/** Keys that only our own format has at its root. */
const OWN_KEYS = ['builtins', 'policy', 'profiles', 'pins', 'gateway', 'limits'];

/**
 * Reads a file of another tool; undefined for a file in our own format, which `toolwright` in its name or a key of its root
 * tells.
 */
export function readForeignConfig(value: unknown, file: string): ForeignConfig | undefined {
  if (!isJsonObject(value) || /^toolwright\b/i.test(basename(file))) return undefined;
  if (/^memcp\.ya?ml$/i.test(basename(file)) || 'memorybank' in value) return memcpConfig(value);
  if (OWN_KEYS.some((key) => Object.hasOwn(value, key))) return undefined;
  for (const path of SERVER_KEYS) {
    const servers = path.reduce<unknown>((part, key) => (isJsonObject(part) ? part[key] : undefined), value);
    if (isJsonObject(servers) || Array.isArray(servers)) return serversConfig(servers, path, value, file);
  }
  return undefined;
}

function serversConfig(
  servers: JsonObject | unknown[],
  path: ConfigPath,
  root: JsonObject,
  file: string,
): ForeignConfig {
  const notices: ForeignNotice[] = [];
  const rules: JsonObject[] = [];
  const mcpServers = new Map<string, JsonObject>();
  const entries = namedEntries(servers);
  const plainNames = new Set(entries.map(([given]) => given).filter((given) => providerName(given) === given));
  for (const [given, entry] of entries) {
    const at = [...path, given];
    if (!isJsonObject(entry)) {
      notices.push({ path: at, message: 'expected an object; the server is left out.' });
      continue;
    }
    const plain = providerName(given);
    let name = plain;
    const isTaken = (): boolean => mcpServers.has(name) || (name !== given && plainNames.has(name));
    for (let count = 2; isTaken(); count++) name = `${plain.slice(0, 58)}-${count}`;
    if (name !== given) notices.push({ path: at, message: `the server is named "${name}" here.` });
    const converted = new ForeignServer(entry, at, notices);
    const server = converted.read();
    if (!server) continue;
    mcpServers.set(name, server);
    for (const tool of converted.deniedTools) rules.push({ tool: `${name}.${tool}`, action: 'deny' });
  }
  // A settings file holds many other things; a file of servers only does not.
  const isSettings = /^settings\b/i.test(basename(file)) || ['.claude.json', '.toml'].some((end) => file.endsWith(end));
  for (const key of isSettings ? [] : Object.keys(root)) {
    if (key === path[0] || key === '$schema' || (key === 'inputs' && path[0] === 'servers')) continue;
    notices.push({ path: [key], message: 'is not supported and has no effect.' });
  }
  return {
    value: { mcpServers: Object.fromEntries(mcpServers), ...(rules.length > 0 && { policy: { rules } }) },
    notices,
  };
}

/** Continue lists servers with their names inside. */
function namedEntries(servers: JsonObject | unknown[]): (readonly [string, unknown])[] {
  if (!Array.isArray(servers)) return Object.entries(servers);
  return servers.map((entry, index) => {
    const { name } = isJsonObject(entry) ? entry : {};
    return [typeof name === 'string' ? name : String(index), entry] as const;
  });
}

/** A provider's name: letters, digits, `_` and `-`. */
function providerName(name: string): string {
  const clean = name.replace(/[^A-Za-z0-9_-]+/g, '-').slice(0, 64) || 'server';
  return clean === '__proto__' ? 'proto' : clean; // not a key of validated objects
}

/** Keys that say nothing about how a server is run. */
const IGNORED: ReadonlySet<string> = new Set(['type', 'transport', 'name', 'description', 'title', 'icon', '_comment']);
const URL_KEYS = ['url', 'serverUrl', 'baseUrl', 'httpUrl'];
const ALLOWED_KEYS = ['allowedTools', 'includeTools', 'enabled_tools'];
const DENIED_KEYS = ['disabledTools', 'excludeTools', 'disabled_tools', 'blockedTools'];
/** What to do about keys that have no counterpart. */
const ADVICE: Readonly<Record<string, string>> = {
  alwaysAllow: 'is not applied: allow tools by rules of the policy.',
  autoApprove: 'is not applied: allow tools by rules of the policy.',
  trust: 'is not applied: allow tools by rules of the policy.',
  timeout: 'is not applied, as its unit differs between tools: set callTimeoutMs.',
  envFile: 'is not read: set the variables in the environment.',
  dev: 'is not supported and has no effect.',
  auth: 'is not supported: set headers, or sign in with an engine of your own.',
  oauth: 'is not supported: set headers, or sign in with an engine of your own.',
};

/** One server of a foreign file. */
class ForeignServer {
  /** The names of tools that the entry turns off. */
  readonly deniedTools: string[] = [];
  readonly #entry: JsonObject;
  readonly #path: ConfigPath;
  readonly #notices: ForeignNotice[];
  readonly #read = new Set<string>();

  constructor(entry: JsonObject, path: ConfigPath, notices: ForeignNotice[]) {
    this.#entry = entry;
    this.#path = path;
    this.#notices = notices;
  }

  /** The entry in our format; undefined for a server that cannot be started. */
  read(): JsonObject | undefined {
    const input = /\$\{input:([^}]*)\}/.exec(JSON.stringify(this.#entry));
    if (input) {
      this.#notice(
        [],
        `needs the input "${input[1] ?? ''}", which only its editor asks for: use \${VARIABLE} instead. It is left out.`,
      );
      return undefined;
    }
    const server: JsonObject = {
      ...this.#place(),
      ...this.#copied('env', ['env', 'environment', 'envs']),
      ...this.#copied('cwd', ['cwd']),
      ...this.#headers(),
      ...this.#copied('allowedTools', ALLOWED_KEYS),
      ...this.#milliseconds('startTimeoutMs', 'startup_timeout_sec'),
      ...this.#milliseconds('callTimeoutMs', 'tool_timeout_sec'),
      ...this.#copied('callTimeoutMs', ['callTimeoutMs']),
      ...this.#copied('idleTtlMs', ['idleTtlMs']),
      ...this.#copied('protocol', ['protocol']),
      ...(this.#take(['disabled']) === true || this.#take(['enabled']) === false ? { disabled: true } : {}),
    };
    const denied = this.#take(DENIED_KEYS);
    if (Array.isArray(denied)) for (const tool of denied) if (typeof tool === 'string') this.deniedTools.push(tool);
    for (const key of Object.keys(this.#entry)) {
      if (this.#read.has(key) || IGNORED.has(key)) continue;
      this.#notice([key], ADVICE[key] ?? 'is not supported and has no effect.');
    }
    if (['command', 'url', 'socket'].some((place) => place in server)) return server;
    this.#notice([], 'has neither a command nor a URL; it is left out.');
    return undefined;
  }

  /** The program or the URL. opencode has the command and its arguments in one list. */
  #place(): JsonObject {
    const url = this.#take(URL_KEYS);
    if (url !== undefined) return { url };
    const socket = this.#take(['socket', 'socketPath']);
    if (socket !== undefined) return { socket };
    const command = this.#take(['command']);
    const args = this.#take(['args']);
    if (Array.isArray(command)) return { command: command[0] ?? '', args: command.slice(1) as string[] };
    return { ...(command !== undefined && { command }), ...(args !== undefined && { args }) };
  }

  /** Codex names the variables that hold tokens. */
  #headers(): JsonObject {
    const given = this.#take(['headers', 'http_headers', 'requestInit']);
    const headers: JsonObject = isJsonObject(given) ? { ...given } : {};
    const variables = this.#take(['env_http_headers']);
    for (const [header, name] of Object.entries(isJsonObject(variables) ? variables : {}))
      headers[header] = `\${${String(name)}}`;
    const token = this.#take(['bearer_token_env_var']);
    if (typeof token === 'string') headers['Authorization'] = `Bearer \${${token}}`;
    return Object.keys(headers).length > 0 ? { headers } : {};
  }

  #milliseconds(key: string, seconds: string): JsonObject {
    const value = this.#take([seconds]);
    return typeof value === 'number' ? { [key]: value * 1_000 } : {};
  }

  #copied(key: string, from: readonly string[]): JsonObject {
    const value = this.#take(from);
    return value === undefined ? {} : { [key]: value };
  }

  /** The value of the first of these keys that the entry has. */
  #take(keys: readonly string[]): unknown {
    for (const key of keys) this.#read.add(key);
    const key = keys.find((candidate) => Object.hasOwn(this.#entry, candidate));
    return key === undefined ? undefined : this.#entry[key];
  }

  #notice(below: ConfigPath, message: string): void {
    this.#notices.push({ path: [...this.#path, ...below], message });
  }
}

/** The keys of memcp.yaml that have a counterpart: provider files, the port, hot reload, the memory's directory. */
function memcpConfig(value: JsonObject): ForeignConfig {
  const notices: ForeignNotice[] = [];
  const providers: JsonObject = {};
  const { server, dev, memorybank } = value;
  const watch = isJsonObject(dev) && dev['hotReload'] === true;
  for (const [given, entry] of namedEntries(
    Array.isArray(value['providers']) ? value['providers'] : objectIn(value['providers']),
  )) {
    const { path, file, script, config, runtime, command, args, env } = isJsonObject(entry) ? entry : {};
    const from = typeof entry === 'string' ? entry : (path ?? file ?? script);
    const name = providerName(typeof entry === 'string' ? basename(entry, extname(entry)) : given);
    if (from === undefined && command === undefined) {
      notices.push({ path: ['providers', given], message: 'has no file; it is left out.' });
      continue;
    }
    const rest = Object.entries({ config, runtime, args, env }).filter(([, part]) => part !== undefined);
    providers[name] = {
      ...(from === undefined ? { command } : { path: from, watch }),
      ...Object.fromEntries(rest),
    };
  }
  const { transport, port } = objectIn(server);
  const isHttp = transport === 'http' || transport === 'both';
  if (isJsonObject(memorybank) && Object.keys(memorybank).some((key) => key !== 'enabled'))
    notices.push({ path: ['memorybank'], message: 'only enabled has a counterpart: the memory server.' });
  for (const key of Object.keys(value)) {
    if (['version', 'name', 'providers', 'server', 'dev', 'memorybank'].includes(key)) continue;
    notices.push({ path: [key], message: 'is not supported and has no effect.' });
  }
  return {
    value: {
      providers,
      builtins: {
        filesystem: false,
        bash: false,
        git: false,
        diagnostics: false,
        memory: objectIn(memorybank)['enabled'] === true,
      },
      ...(isHttp && typeof port === 'number' && { gateway: { http: { port } } }),
    },
    notices,
  };
}

function objectIn(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}
