// One simple command while it is analyzed: its words, the directories that it may run in, and the claims that are made
// for it.

import type { Analysis } from './analysis.js';
import type { ArgumentPaths, Directories } from './argument-paths.js';
import type { ShellWord } from './script-tokens.js';

/** What the analysis of every command shares. */
export interface AnalyzerContext {
  readonly analysis: Analysis;
  readonly paths: ArgumentPaths;
  /** Analyzes a script in an argument: `bash -c '...'`. */
  readonly script: (text: string, directories: Directories) => Promise<void>;
}

/** A simple command whose program is known by its name. */
export class Invocation {
  readonly analysis: Analysis;
  readonly paths: ArgumentPaths;
  readonly directories: Directories;
  /** The program's name, without its path. */
  readonly name: string;
  /** The words after the program. */
  readonly args: readonly ShellWord[];
  readonly #program: ShellWord;
  readonly #typed: readonly ShellWord[];
  readonly #inner: (words: readonly ShellWord[]) => Promise<void>;

  /**
   * @param typed the command as it was typed
   * @param program the program as claims name it
   * @param inner analyzes a command that this one runs
   */
  constructor(
    { analysis, paths }: AnalyzerContext,
    directories: Directories,
    name: string,
    typed: readonly ShellWord[],
    program: ShellWord,
    inner: (words: readonly ShellWord[]) => Promise<void>,
  ) {
    this.analysis = analysis;
    this.paths = paths;
    this.directories = directories;
    this.name = name;
    this.args = typed.slice(1);
    this.#typed = typed;
    this.#program = program;
    this.#inner = inner;
  }

  /** The program as claims name it, and its arguments. */
  get words(): readonly ShellWord[] {
    return [this.#program, ...this.args];
  }

  /** The command is understood. @param args what the claim shows of its arguments. Default: all */
  claimCommand(args: readonly ShellWord[] = this.args): void {
    this.analysis.claimCommand([this.#program, ...args]);
  }

  /** The command is not understood. */
  claimUnknown(reason: string): void {
    this.analysis.claimUnknown(this.#typed, reason);
  }

  /** The command is not understood, for an option that is in no table; undefined: for a wildcard. */
  claimUnlisted(option: string | undefined, of = this.name): void {
    this.claimUnknown(
      option === undefined
        ? 'a wildcard can change which of its words are files'
        : `the option ${option.slice(0, 40)} of ${of} is not known to be harmless`,
    );
  }

  /** @param command the subcommand that has the option */
  claimOption(option: string, reason: string, command?: ShellWord): void {
    this.analysis.claimOption(command ? [this.#program, command] : [this.#program], option, reason);
  }

  /** Claims the paths that words may name. */
  async claimPaths(words: readonly ShellWord[], access: 'reads' | 'may write'): Promise<void> {
    for (const word of words) await this.paths.argument(word, this.directories, access);
  }

  /** Analyzes a command that this one runs. */
  analyzeInner(words: readonly ShellWord[]): Promise<void> {
    return this.#inner(words);
  }
}
