// Reads a configuration file: its format, its variables, its validation, and where its relative paths start.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, resolve } from 'node:path';
import { ToolError } from '@toolwright/core';
import { assertOptions, isJsonObject, type OptionNames } from '@toolwright/core/internal';
import { effectsOf, type ConfigEffects } from './config-effects.js';
import { configFaults, faultLine, type ConfigFault } from './config-faults.js';
import { CONFIG_SCHEMA, type ToolwrightConfig } from './config-schema.js';
import { parseConfigText, type ConfigPath, type ConfigSource } from './config-source.js';
import { readForeignConfig, type ForeignNotice } from './foreign-config.js';
import { expandVariables } from './variables.js';

/** How a file is read. */
export interface ReadConfigOptions {
  /** The values of variables. Default: `process.env`. */
  env?: Readonly<Record<string, string | undefined>>;
  /** The project of a file that does not name one. Default: the file's directory, or the one above `.vscode` and `.cursor`. */
  projectDir?: string;
}

/** A valid configuration file. */
export interface ReadConfig {
  /** The file; absolute. */
  readonly file: string;
  /** Its content, with variables replaced. */
  readonly config: ToolwrightConfig;
  /** The project; absolute. */
  readonly projectDir: string;
  /** Where the file was found: the option `projectDir`, else the directory of the file. A file cannot change that. Absolute. */
  readonly foundIn: string;
  /** What it starts and permits, without the values of variables. */
  readonly effects: ConfigEffects;
  /** The SHA-256 of its text, in hexadecimal. */
  readonly sha256: string;
  /** What has no effect in a file of another tool, one line each. */
  readonly notices: readonly string[];
}

const OPTIONS: OptionNames<ReadConfigOptions> = { env: 'object', projectDir: 'text' };

/** Directories in which editors keep files of a project. */
const EDITOR_DIRECTORIES: ReadonlySet<string> = new Set([
  '.vscode',
  '.cursor',
  '.codex',
  '.claude',
  '.gemini',
  '.kiro',
]);

/**
 * Reads a file.
 *
 * @param file absolute, or relative to the working directory
 * @throws {ToolError} NOT_FOUND; INVALID_ARGUMENT with every fault, its line and what was expected
 */
export async function readConfig(file: string, options: ReadConfigOptions = {}): Promise<ReadConfig> {
  const path = resolve(file);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (thrown) {
    const { code } = ToolError.from(thrown);
    const reason = code === 'NOT_FOUND' ? 'There is no configuration' : 'The configuration cannot be read:';
    const message = `${reason} ${path}. Give the path of a toolwright.json, .jsonc or .yaml, or of an mcpServers file.`;
    throw new ToolError(code, message, { cause: thrown });
  }
  return parseConfig(text, path, options);
}

/**
 * Parses the text of a file.
 *
 * @param file absolute; its extension tells the format
 * @throws {ToolError} INVALID_ARGUMENT with every fault, its line and what was expected
 */
export function parseConfig(text: string, file: string, options: ReadConfigOptions = {}): ReadConfig {
  assertOptions('readConfig()', options, OPTIONS);
  const source = parseConfigText(text, file);
  const foreign = readForeignConfig(source.value, file);
  const base = options.projectDir ?? projectOf(file);
  const editor = { workspaceFolder: base, userHome: homedir(), workspaceFolderBasename: basename(base) };
  const raw = foreign ? foreign.value : source.value;
  const expanded = expandVariables(raw, { ...(foreign && editor), ...(options.env ?? process.env) });
  const notices = [...(foreign?.notices ?? [])];
  let { value } = expanded;
  if (foreign) value = withoutIncomplete(value, expanded.missing, notices);
  else if (expanded.missing.length > 0)
    throw invalid(
      source,
      expanded.missing.map(({ name, path }) => ({
        path: path.join('.'),
        line: source.lineOf(path),
        message: `the variable ${name} has no value: set it, or give a default: \${${name}:-…}.`,
      })),
    );
  const config = validated(value, raw, source);
  return {
    file,
    config,
    projectDir: resolve(base, config.projectDir ?? '.'),
    foundIn: resolve(base),
    effects: effectsOf(writtenForm(config, raw)),
    sha256: createHash('sha256').update(text).digest('hex'),
    notices: notices.map(({ path, message }) => noticeLine(source, path, message)),
  };
}

/** The parts of a configuration that are in force, as the file writes them: with variables in place of their values. */
function writtenForm(config: ToolwrightConfig, raw: unknown): ToolwrightConfig {
  const written = { ...(raw as ToolwrightConfig) };
  for (const kind of ['providers', 'mcpServers'] as const) {
    const names = Object.keys(config[kind] ?? {});
    const entries = Object.entries(written[kind] ?? {}).filter(([name]) => names.includes(name));
    Object.assign(written, { [kind]: Object.fromEntries(entries) });
  }
  return written;
}

function projectOf(file: string): string {
  const directory = dirname(file);
  return EDITOR_DIRECTORIES.has(basename(directory)) ? dirname(directory) : directory;
}

function noticeLine(source: ConfigSource, path: ConfigPath, message: string): string {
  const line = source.lineOf(path);
  return faultLine(source.file, { path: path.join('.'), line, message });
}

/** Leaves out the servers of a foreign file whose variables have no value: other tools start the rest too. */
function withoutIncomplete(
  value: unknown,
  missing: readonly { readonly name: string; readonly path: ConfigPath }[],
  notices: ForeignNotice[],
): unknown {
  const copy = structuredClone(value);
  for (const { name, path } of missing) {
    const [kind = '', entry = ''] = kindAndEntry(path, copy);
    const entries = isJsonObject(copy) ? copy[kind] : undefined;
    if (!isJsonObject(entries) || !Object.hasOwn(entries, entry)) continue;
    delete entries[entry];
    notices.push({
      path,
      message: `the variable ${name} has no value: set it, or give a default. ${entry} is left out.`,
    });
  }
  const { mcpServers, policy } = (isJsonObject(copy) ? copy : {}) as Pick<ToolwrightConfig, 'mcpServers' | 'policy'>;
  // Rules for servers that are left out match nothing.
  if (policy?.rules) policy.rules = policy.rules.filter(({ tool }) => Object.hasOwn(mcpServers ?? {}, serverIn(tool)));
  return copy;
}

/** What a variable belongs to. A rule denies a tool of a server, which must not run without it. */
function kindAndEntry(path: ConfigPath, value: unknown): ConfigPath {
  if (path[0] !== 'policy') return path;
  const tool = at(value, path);
  return typeof tool === 'string' ? ['mcpServers', serverIn(tool)] : path;
}

function serverIn(tool: string): string {
  return tool.slice(0, tool.indexOf('.'));
}

/** @param raw the value before variables were replaced: faults show only that */
function validated(value: unknown, raw: unknown, source: ConfigSource): ToolwrightConfig {
  const parsed = CONFIG_SCHEMA.safeParse(value, { reportInput: true });
  if (parsed.success) return parsed.data;
  const { value: coerced, count } = coerceVariables(value, raw, parsed.error.issues);
  const again = count > 0 ? CONFIG_SCHEMA.safeParse(coerced, { reportInput: true }) : parsed;
  if (again.success) return again.data;
  throw invalid(source, configFaults(again.error.issues, source, raw));
}

const WHOLE_VARIABLE = /^\$\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}$/;

/** Texts that are a variable and nothing else become numbers and booleans where those are expected: `"${PORT:-3000}"`. */
function coerceVariables(
  value: unknown,
  raw: unknown,
  issues: readonly { readonly code?: string; readonly path: readonly PropertyKey[]; readonly expected?: unknown }[],
): { value: unknown; count: number } {
  const copy = structuredClone(value);
  let count = 0;
  for (const { code, path, expected } of issues) {
    const given = at(raw, path);
    const parent = at(copy, path.slice(0, -1)) as Record<PropertyKey, unknown> | undefined;
    const last = path.at(-1);
    if (code !== 'invalid_type' || typeof given !== 'string' || !WHOLE_VARIABLE.test(given)) continue;
    if (typeof parent !== 'object' || last === undefined) continue;
    const text = String(parent[last]).trim();
    if (expected === 'boolean' && (text === 'true' || text === 'false')) parent[last] = text === 'true';
    else if ((expected === 'number' || expected === 'int') && text !== '' && Number.isFinite(Number(text)))
      parent[last] = Number(text);
    else continue;
    count++;
  }
  return { value: copy, count };
}

function at(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (part, key) =>
      typeof part === 'object' && part !== null && Object.hasOwn(part, key)
        ? (part as Record<PropertyKey, unknown>)[key]
        : undefined,
    value,
  );
}

function invalid(source: ConfigSource, faults: readonly ConfigFault[]): ToolError {
  const lines = faults.map((fault) => faultLine(source.file, fault));
  return new ToolError('INVALID_ARGUMENT', lines.join('\n'), {
    details: {
      file: source.file,
      faults: faults.map(({ path, line, message }) => ({ path, line: line ?? null, message })),
    },
  });
}
