// What a bash command line would do, as claims that a policy decides on. Two parsers must find the same commands in it;
// where they differ, or do not know, the claim is not understood, and a person is asked.

import { ToolError } from '../../../contract/errors.js';
import type { PermissionClaim } from '../../../contract/claims.js';
import type { ProjectFiles } from '../../project/project-files.js';
import { ArgumentPaths, type Directories } from './argument-paths.js';
import { readByGrammar, type GrammarReading } from './bash-grammar.js';
import { shownText } from './claim-text.js';
import { MAX_COMMANDS, Analysis, TooComplex } from './analysis.js';
import { isHarmlessVariable } from './commands/refused-commands.js';
import { commandsOf, readScript, type ScriptNode } from './script-reader.js';
import { tokenize, UnreadableScript, type ShellWord } from './script-tokens.js';
import { analyzeScript } from './analyze-script.js';

/** Where a command would run. */
export interface AnalyzeOptions {
  /** Decides what is inside the project and what is protected. */
  files: ProjectFiles;
  /** The working directory, relative to the project. */
  cwd: string;
  /** Variables that the call adds to the environment. All but a few harmless ones are claimed as unknown. Default: none. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Ends the analysis early. What is not analyzed by then is not understood. */
  signal?: AbortSignal | undefined;
}

const MAX_COMMAND_BYTES = 32 * 1024;
const MAX_SCRIPT_DEPTH = 3;
/** Control characters, spaces other than U+0020, and invisible characters. */
const DISGUISE = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/u;

/**
 * Claims everything that a command line would do: each simple command, each file that it writes, each option that makes a
 * reader write or run something, and each path that is protected or outside the project.
 *
 * Never throws, and returns at least one claim. No rule allows a claim that is not `understood`: a person is asked.
 */
export async function analyzeCommand(command: string, options: AnalyzeOptions): Promise<PermissionClaim[]> {
  const analysis = new Analysis();
  try {
    await new CommandAnalyzer(analysis, options).analyze(command);
  } catch (error) {
    const reason =
      error instanceof TooComplex ? error.message : `it could not be analyzed: ${ToolError.from(error).message}`;
    return [...analysis.claims.slice(0, MAX_COMMANDS), unknownClaim(String(command), reason)];
  }
  const { claims } = analysis;
  return claims.length > 0 ? claims : [unknownClaim(String(command), 'it contains no command')];
}

function unknownClaim(text: string, reason: string): PermissionClaim {
  return { pattern: shownText(text), match: 'tokens', understood: false, reason, suggestedPattern: null };
}

class CommandAnalyzer {
  readonly #analysis: Analysis;
  readonly #options: AnalyzeOptions;
  readonly #paths: ArgumentPaths;
  #depth = 0;

  constructor(analysis: Analysis, options: AnalyzeOptions) {
    this.#analysis = analysis;
    this.#options = options;
    this.#paths = new ArgumentPaths(options.files, analysis);
  }

  async analyze(command: string): Promise<void> {
    const { files, cwd, env = {}, signal } = this.#options;
    for (const [name, value] of Object.entries(env)) {
      if (!isHarmlessVariable(name, value))
        this.#analysis.claimUnknownText(`env ${name}`, 'a variable can change what the commands do');
    }
    if (Buffer.byteLength(command) > MAX_COMMAND_BYTES)
      throw new TooComplex(`it is longer than ${MAX_COMMAND_BYTES / 1024} KB`);
    signal?.throwIfAborted();
    const start = await files.resolve(cwd, 'read');
    await this.#script(command, new Set([start.absolute]));
    signal?.throwIfAborted();
  }

  async #script(text: string, start: Directories): Promise<void> {
    if (++this.#depth > MAX_SCRIPT_DEPTH) throw new TooComplex('its scripts are nested too deeply');
    const reading = await readByGrammar(text);
    try {
      const script = this.#read(text, reading);
      await analyzeScript(
        {
          analysis: this.#analysis,
          paths: this.#paths,
          script: (inner, directories) => this.#script(inner, directories),
        },
        script,
        start,
      );
    } catch (error) {
      if (!(error instanceof UnreadableScript)) throw error;
      this.#claimUnreadable(text, reading, error.message);
    }
    this.#depth--;
  }

  /** @throws {UnreadableScript} unless both parsers find the same commands */
  #read(text: string, { commands, unsupported }: GrammarReading): ScriptNode {
    if (DISGUISE.test(text))
      throw new UnreadableScript('it contains characters that are invisible or look like others');
    const script = readScript(text); // first: its reasons are clearer
    if (unsupported !== undefined) throw new UnreadableScript(unsupported);
    const read = commandsOf(script)
      .map(({ words }) => words)
      .filter((words) => words.length > 0);
    const grammars = commands.map(({ raw }) => raw.flatMap(wordsIn));
    const agree =
      read.length === grammars.length && read.every((words, index) => sameWords(words, grammars[index] ?? []));
    if (!agree) throw new UnreadableScript('two parsers do not agree on what it runs');
    return script;
  }

  /** Every command that the grammar found becomes a claim, so that deny rules apply to it. */
  #claimUnreadable(text: string, { commands }: GrammarReading, reason: string): void {
    for (const command of commands) {
      this.#analysis.countCommand();
      this.#analysis.claimUnknown(
        command.raw.flatMap((raw) => wordsOrText(raw)),
        reason,
      );
    }
    if (commands.length !== 1) this.#analysis.claimUnknownText(text, reason);
  }
}

function wordsIn(raw: string): ShellWord[] {
  return tokenize(raw).flatMap((token) => (token.kind === 'word' ? [token.word] : []));
}

function wordsOrText(raw: string): ShellWord[] {
  try {
    return wordsIn(raw);
  } catch (error) {
    if (error instanceof UnreadableScript) return [{ text: raw, shape: raw, variable: true }];
    throw error;
  }
}

function sameWords(a: readonly ShellWord[], b: readonly ShellWord[]): boolean {
  return (
    a.length === b.length && a.every(({ text, shape }, index) => text === b[index]?.text && shape === b[index].shape)
  );
}
