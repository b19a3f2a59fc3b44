// The known checkers of check_project: how a project with one is recognised, where its program is, and how it is run.

import { constants } from 'node:fs';
import { access, readdir, readFile } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';
import { ToolError } from '../../../contract/errors.js';
import { assertOptions, type OptionNames } from '../../../contract/options.js';
import { nameFault } from '../../../tool/define-tool.js';
import { parseCargo } from './cargo-output.js';
import { parseEslint } from './eslint-output.js';
import { parseGeneric } from './generic-output.js';
import { parseGo } from './go-output.js';
import { parsePyright } from './pyright-output.js';
import { field, parseJson, type CheckerParser } from './checker-report.js';
import { parseRuff } from './ruff-output.js';
import { parseTsc } from './tsc-output.js';

/** The format of a checker's output. `'generic'`: lines of the form `file:line:column: message`. */
export type CheckerFormat = 'tsc' | 'eslint' | 'ruff' | 'pyright' | 'cargo' | 'go' | 'generic';

/** A custom checker for `check_project`. */
export interface CheckerOptions {
  /** The checker's name; `[A-Za-z0-9_-]{1,64}`. A known name replaces the known checker. */
  name: string;
  /** The program: an absolute path, or a name on the PATH. Never a shell. */
  command: string;
  /** The arguments. Default: none. */
  args?: readonly string[] | undefined;
  /** The output format. Default: `'generic'`. */
  format?: CheckerFormat | undefined;
}

const OPTIONS: OptionNames<CheckerOptions> = { name: true, command: true, args: true, format: true };

/** A checker. */
export interface Checker {
  name: string;
  parse: CheckerParser;
  /** Whether the project uses it. @param names the names in the top directory */
  applies: (names: ReadonlySet<string>) => boolean;
  /** The program and its arguments; undefined if it is not installed. */
  find: (projectDir: string) => Promise<CheckerCommand | undefined>;
  /** How to install it. */
  hint: string;
}

/** The command to run. */
export interface CheckerCommand {
  command: string;
  args: readonly string[];
}

const PARSERS: Readonly<Record<CheckerFormat, CheckerParser>> = {
  tsc: parseTsc,
  eslint: parseEslint,
  ruff: parseRuff,
  pyright: parsePyright,
  cargo: parseCargo,
  go: parseGo,
  generic: parseGeneric,
};

const has =
  (...wanted: readonly string[]) =>
  (names: ReadonlySet<string>): boolean =>
    wanted.some((name) => names.has(name));

const TSC_ARGUMENTS = ['--noEmit', '--pretty', 'false', '--listFiles', '-p', '.'];

/** @param typescript the directory of a TypeScript package, for projects without one */
function tsc(typescript: string | undefined): Checker {
  return {
    name: 'tsc',
    parse: parseTsc,
    applies: has('tsconfig.json'),
    find: (projectDir) =>
      firstOf(
        nodeProgram(join(projectDir, 'node_modules', 'typescript'), 'tsc', TSC_ARGUMENTS),
        typescript === undefined ? Promise.resolve(undefined) : nodeProgram(typescript, 'tsc', TSC_ARGUMENTS),
        onPath('tsc', TSC_ARGUMENTS),
      ),
    hint: 'npm install --save-dev typescript',
  };
}

/** In the order of `auto`, which selects the first that applies: type checkers before linters. */
const KNOWN: readonly Checker[] = [
  {
    name: 'cargo',
    parse: parseCargo,
    applies: has('Cargo.toml'),
    find: () => onPath('cargo', ['check', '--message-format=json', '--all-targets', '--offline']),
    hint: 'install Rust, which puts cargo on the PATH',
  },
  {
    name: 'go',
    parse: parseGo,
    applies: has('go.mod'),
    find: () => onPath('go', ['vet', '-json', './...']),
    hint: 'install Go, which puts go on the PATH',
  },
  {
    name: 'pyright',
    parse: parsePyright,
    applies: has('pyrightconfig.json', 'pyproject.toml', 'setup.py', 'requirements.txt'),
    find: (projectDir) =>
      firstOf(
        nodeProgram(join(projectDir, 'node_modules', 'pyright'), 'pyright', ['--outputjson']),
        inDirectory(venv(projectDir), 'pyright', ['--outputjson']),
        onPath('pyright', ['--outputjson']),
      ),
    hint: 'npm install --save-dev pyright, or pip install pyright',
  },
  {
    name: 'ruff',
    parse: parseRuff,
    applies: has('ruff.toml', '.ruff.toml', 'pyproject.toml'),
    find: (projectDir) =>
      firstOf(
        inDirectory(venv(projectDir), 'ruff', ['check', '--output-format', 'json', '.']),
        onPath('ruff', ['check', '--output-format', 'json', '.']),
      ),
    hint: 'pip install ruff',
  },
  {
    name: 'eslint',
    parse: parseEslint,
    applies: (names) => [...names].some((name) => /^eslint\.config\.[cm]?[jt]s$|^\.eslintrc/.test(name)),
    find: (projectDir) =>
      firstOf(
        nodeProgram(join(projectDir, 'node_modules', 'eslint'), 'eslint', ['--format', 'json', '.']),
        onPath('eslint', ['--format', 'json', '.']),
      ),
    hint: 'npm install --save-dev eslint',
  },
];

/**
 * The known checkers after the host's own; a host's checker replaces a known one of the same name.
 *
 * @param typescript as in {@link tsc}
 * @throws {ToolError} INVALID_ARGUMENT for an invalid name, command or format
 */
export function checkersWith(own: readonly CheckerOptions[], typescript?: string): readonly Checker[] {
  for (const [index, options] of own.entries()) {
    assertOptions('createDiagnosticsServer()', options, OPTIONS, `checkers[${index}].`);
    const { name, command, format = 'generic' } = options;
    const fault =
      nameFault('name', name) ??
      (typeof command === 'string' && command !== '' ? undefined : 'command must be a program') ??
      (Object.hasOwn(PARSERS, format) ? undefined : `format must be one of ${Object.keys(PARSERS).join(', ')}`) ??
      (name === 'auto' ? 'name must not be "auto", which selects the first checker that fits' : undefined);
    if (fault !== undefined) throw new ToolError('INVALID_ARGUMENT', `checkers: ${fault}.`);
  }
  const given = own.map(({ name, command, args = [], format = 'generic' }): Checker => ({
    name,
    parse: PARSERS[format],
    applies: () => true, // a custom checker always applies
    find: () => (isAbsolute(command) ? inDirectory('', command, args) : onPath(command, args)),
    hint: `install ${command}`,
  }));
  return [...given, ...[tsc(typescript), ...KNOWN].filter(({ name }) => !own.some((each) => each.name === name))];
}

/** The names in the project's top directory. */
export async function topNames(projectDir: string): Promise<ReadonlySet<string>> {
  return new Set(await readdir(projectDir));
}

async function firstOf(...tries: Promise<CheckerCommand | undefined>[]): Promise<CheckerCommand | undefined> {
  return (await Promise.all(tries)).find((each) => each !== undefined);
}

/** A command of an npm package, run with this Node. */
async function nodeProgram(
  directory: string,
  bin: string,
  args: readonly string[],
): Promise<CheckerCommand | undefined> {
  const manifest = parseJson(await readFile(join(directory, 'package.json'), 'utf8').catch(() => ''));
  const bins = field(manifest, 'bin');
  const path = typeof bins === 'string' ? bins : field(bins, bin);
  if (typeof path !== 'string') return undefined;
  return { command: process.execPath, args: [join(directory, path), ...args] };
}

function venv(projectDir: string): string {
  return join(projectDir, '.venv', process.platform === 'win32' ? 'Scripts' : 'bin');
}

async function inDirectory(
  directory: string,
  name: string,
  args: readonly string[],
): Promise<CheckerCommand | undefined> {
  for (const suffix of process.platform === 'win32' ? ['.exe', ''] : ['']) {
    const command = join(directory, `${name}${suffix}`);
    if (
      await access(command, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return { command, args };
  }
  return undefined;
}

async function onPath(name: string, args: readonly string[]): Promise<CheckerCommand | undefined> {
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    if (!isAbsolute(directory)) continue; // the current directory could be any directory
    const found = await inDirectory(directory, name, args);
    if (found) return found;
  }
  return undefined;
}
