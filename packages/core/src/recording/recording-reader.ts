// Reads a recording back: its header, and its calls, prepared calls and lists of tools with the places where they stand.

import { readFileSync } from 'node:fs';
import { canonicalJson } from '../contract/canonical-json.js';
import { ToolError } from '../contract/errors.js';
import { deepFreeze } from '../contract/json-copy.js';
import { isDeeperThan, isJsonObject } from '../contract/json.js';
import { isContentBlock } from '../contract/result.js';
import type { ToolDefinition } from '../contract/tool-definition.js';
import {
  RECORDING_VERSION,
  type CallLine,
  type HeaderLine,
  type PrepareLine,
  type ProgressLine,
  type RecordedCall,
  type RecordingLine,
  type ResultLine,
} from './recording-format.js';

/** What is read is compared and copied by functions that call themselves. */
const MAX_DEPTH = 1_000;

/** A call with what followed it. */
export interface ReadCall extends RecordedCall {
  /** The number of its line, from 1. */
  readonly line: number;
  /** Equal for calls of one name with equal arguments. */
  readonly key: string;
  readonly progress: ProgressLine[];
  /** Absent when the call had not settled when the recording ended. */
  result?: ResultLine;
}

/** A prepared call. */
export interface ReadPrepare extends PrepareLine {
  readonly key: string;
}

/** The list of tools from a line on. */
export interface ReadList {
  readonly line: number;
  tools: readonly ToolDefinition[];
}

/** A recording. */
export interface Recording {
  readonly header: HeaderLine;
  readonly calls: readonly ReadCall[];
  readonly prepares: readonly ReadPrepare[];
  readonly lists: readonly ReadList[];
  /** The numbers of the lines that report a changed list. */
  readonly changes: readonly number[];
  /** Why the recording is incomplete. */
  readonly incomplete?: string;
}

/** Equal for calls of one name with equal arguments. */
export function keyOf({ name, args }: RecordedCall): string {
  return canonicalJson([name, args]) ?? '';
}

/**
 * Reads a recording.
 *
 * @throws {ToolError} NOT_FOUND when the file does not exist; INVALID_ARGUMENT when it is not a recording, or one of a version
 *   that this one does not read
 */
export function readRecording(file: string): Recording {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (thrown) {
    const { code, message } = ToolError.from(thrown);
    throw new ToolError(code, `The recording ${file} cannot be read: ${message}`, { cause: thrown });
  }
  const lines = linesOf(bytes, file);
  return collect(headerOf(lines[0], file), lines, file);
}

/** The last line is left out if it is cut off, as by a program that was killed. */
function linesOf(bytes: Buffer, file: string): unknown[] {
  const lines: unknown[] = [];
  for (let start = 0; start < bytes.length;) {
    const end = bytes.indexOf(0x0a, start);
    if (end < 0) break;
    try {
      lines.push(JSON.parse(bytes.toString('utf8', start, end)));
    } catch {
      throw unreadable(file, lines.length + 1, 'is not JSON');
    }
    if (isDeeperThan(lines.at(-1), MAX_DEPTH))
      throw unreadable(file, lines.length, `is nested deeper than ${MAX_DEPTH} levels`);
    start = end + 1;
  }
  return lines;
}

function headerOf(line: unknown, file: string): HeaderLine {
  const { type, v, name, servers } = Object(line) as Partial<HeaderLine>;
  if (type !== 'recording' || typeof name !== 'string' || !isTexts(servers))
    throw unreadable(file, 1, 'is not the header of a recording');
  if (v === RECORDING_VERSION) return line as HeaderLine;
  throw unreadable(
    file,
    1,
    `says version ${JSON.stringify(v)}, but this version reads ${RECORDING_VERSION}; record again`,
  );
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** The rest is as it was listed: a recording has the malformed tools of a provider too. */
function isTool(value: unknown): boolean {
  return isJsonObject(value) && typeof value.name === 'string';
}

function unreadable(file: string, line: number, why: string): ToolError {
  return new ToolError('INVALID_ARGUMENT', `${file} cannot be replayed: line ${line} ${why}.`);
}

function collect(header: HeaderLine, lines: readonly unknown[], file: string): Recording {
  const calls = new Map<number, ReadCall>();
  const prepares: ReadPrepare[] = [];
  const lists: ReadList[] = [];
  const changes: number[] = [];
  let incomplete: string | undefined;
  const callOf = (id: number, at: number): ReadCall => {
    const call = calls.get(id);
    if (!call) throw unreadable(file, at, 'belongs to a call that no line before it has');
    return call;
  };
  for (const [index, given] of lines.entries()) {
    const at = index + 1;
    if (!isJsonObject(given)) throw unreadable(file, at, 'is not an object');
    const line = given as unknown as RecordingLine;
    switch (line.type) {
      case 'tools':
        if (!Array.isArray(line.tools) || !line.tools.every(isTool)) throw unreadable(file, at, 'has no list of tools');
        if (line.partial) addTools(lists, at, line.tools);
        else lists.push({ line: at, tools: line.tools });
        break;
      case 'changed':
        changes.push(at);
        break;
      case 'prepare':
        if (!Array.isArray(line.claims)) throw unreadable(file, at, 'has no claims');
        prepares.push({ ...line, key: keyOf(line) });
        break;
      case 'call':
        calls.set(line.id, readCall(line, at));
        break;
      case 'progress':
        callOf(line.id, at).progress.push(line);
        break;
      case 'result': {
        const { content, isError } = Object(line.result) as Partial<ResultLine['result']>;
        if (!Array.isArray(content) || !content.every(isContentBlock) || typeof isError !== 'boolean')
          throw unreadable(file, at, 'has no result');
        callOf(line.id, at).result = line;
        break;
      }
      case 'incomplete':
        incomplete = line.reason;
        break;
      default: // the header, and types of later versions
    }
  }
  for (const { tools } of lists) deepFreeze(tools);
  return {
    header,
    calls: [...calls.values()],
    prepares,
    lists,
    changes,
    ...(incomplete !== undefined && { incomplete }),
  };
}

function readCall(line: CallLine, at: number): ReadCall {
  const { name, args } = line;
  return { name, args, line: at, key: keyOf(line), progress: [] };
}

/** Adds tools to all lists, as they were there before they were recorded; a tool that is listed already changes from here on. */
function addTools(lists: ReadList[], at: number, tools: readonly ToolDefinition[]): void {
  if (lists.length === 0) lists.push({ line: at, tools: [] });
  for (const tool of tools) {
    const latest = lists.at(-1)?.tools ?? [];
    if (latest.some(({ name }) => name === tool.name))
      lists.push({ line: at, tools: latest.map((before) => (before.name === tool.name ? tool : before)) });
    else for (const list of lists) list.tools = [...list.tools, tool];
  }
}
