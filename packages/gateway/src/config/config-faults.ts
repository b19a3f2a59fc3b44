// What is wrong with a configuration: one line each, with the place, what was expected and what was found.

import { likelyName, redactedText, shownValue } from '@toolwright/core/internal';
import type { core } from 'zod';
import type { ConfigPath, ConfigSource } from './config-source.js';
import { configJsonSchema } from './config-schema.js';

/** One fault. */
export interface ConfigFault {
  /** Where it is, such as `mcpServers.github.args`; empty for the whole file. */
  readonly path: string;
  /** The line in the file, from 1; undefined where the format does not tell. */
  readonly line: number | undefined;
  /** What was expected and what was found. */
  readonly message: string;
}

/** A fault as one line: `FILE:LINE: PATH: MESSAGE.` */
export function faultLine(file: string, { path, line, message }: ConfigFault): string {
  const place = line === undefined ? file : `${file}:${line}`;
  return `${place}: ${path === '' ? '' : `${path}: `}${message}`;
}

/**
 * The faults that the schema found, unknown keys with the nearest known one.
 *
 * @param raw the configuration before variables were replaced: values of variables are never shown
 */
export function configFaults(issues: readonly core.$ZodIssue[], source: ConfigSource, raw: unknown): ConfigFault[] {
  const faults = issues.flatMap((issue) => faultsOf(issue, [], source, raw));
  return faults.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
}

function faultsOf(issue: core.$ZodIssue, above: ConfigPath, source: ConfigSource, raw: unknown): ConfigFault[] {
  const path: ConfigPath = [...above, ...issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part))];
  const fault = (message: string, at: ConfigPath = path): ConfigFault => ({
    path: pathText(at),
    line: source.lineOf(at),
    message,
  });
  const found = shownPart(path, raw);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => {
        const known = keysAt(path);
        const meant = likelyName(key, known);
        const hint = meant === undefined ? '' : `did you mean \`${meant}\`? `;
        return fault(`unknown key; ${hint}Valid keys: ${known.join(', ')}.`, [...path, key]);
      });
    case 'invalid_union': {
      const closest = closestOf(issue.errors);
      if (closest) return closest.flatMap((inner) => faultsOf(inner, path, source, raw));
      const kinds = issue.errors.flatMap(([first]) => (first ? [expectationOf(first)] : []));
      return [fault(`expected ${[...new Set(kinds)].join(' or ')}, not ${found}.`)];
    }
    case 'invalid_key':
      return [fault('a name must not be empty.')];
    case 'custom':
      return [fault(`${issue.message}.`)];
    default:
      return [fault(`expected ${expectationOf(issue)}, not ${found}.`)];
  }
}

/** The alternative of a union that was meant: the one whose faults are below the value itself. */
function closestOf(alternatives: readonly (readonly core.$ZodIssue[])[]): readonly core.$ZodIssue[] | undefined {
  return alternatives.find((issues) =>
    issues.every(({ path, code }) => path.length > 0 || code === 'unrecognized_keys' || code === 'custom'),
  );
}

function expectationOf(issue: core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return KINDS[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return issue.values.map((value) => JSON.stringify(value)).join(' or ');
    case 'too_small':
      if (issue.origin === 'string') return 'a text that is not empty';
      return `a number ${issue.inclusive === true ? 'of at least' : 'above'} ${issue.minimum}`;
    case 'too_big':
      return `a number of at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

/** Where texts are secrets more often than not. */
const SECRET_PARTS: ReadonlySet<string | number> = new Set(['env', 'headers', 'variables', 'config']);

/** A part of the file as an error shows it, without what may be a secret. */
function shownPart(path: ConfigPath, raw: unknown): string {
  const part = path.reduce<unknown>(
    (value, key) =>
      Object(value) === value && Object.hasOwn(value as object, key)
        ? (value as Record<string | number, unknown>)[key]
        : undefined,
    raw,
  );
  const isSecret = typeof part === 'string' && path.some((key) => SECRET_PARTS.has(key));
  return isSecret ? 'a text' : redactedText(shownValue(part));
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/** `["policy", "rules", 0]` → `policy.rules[0]`. */
function pathText(path: ConfigPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? part : `${text}.${part}`;
  }, '');
}

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | boolean;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
}

/** The known keys of the object at a path. */
function keysAt(path: ConfigPath): string[] {
  let nodes: readonly SchemaNode[] = [configJsonSchema()];
  for (const part of path)
    nodes = nodes.flatMap(withAlternatives).flatMap(({ properties, additionalProperties, items }) => {
      const next = typeof part === 'number' ? items : (properties?.[part] ?? additionalProperties);
      return typeof next === 'object' ? [next] : [];
    });
  return nodes.flatMap(withAlternatives).flatMap(({ properties = {} }) => Object.keys(properties));
}

function withAlternatives(node: SchemaNode): SchemaNode[] {
  return [node, ...(node.anyOf ?? []).flatMap(withAlternatives)];
}
