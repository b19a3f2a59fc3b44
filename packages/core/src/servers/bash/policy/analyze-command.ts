// What a bash command line would do, as the claims that a policy judges. Two readings must agree on every command in
// it; what they do not agree on, or do not know, is asked about.

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
  /** Decides what is inside the project, and what is protected. */
  files: ProjectFiles;
  /** The directory of the call, relative to the project. */
  cwd: string;
  /** Variables that the call sets beside the usual ones: all but a few harmless ones are asked about. Default: none. */
  env?: Readonly<Record<string, string>> | undefined;
  /** An abort ends the judging; what is not judged is not understood. */
  signal?: AbortSignal | undefined;
}

/** Longer commands are not read. */
const MAX_COMMAND_BYTES = 32 * 1024;
const MAX_SCRIPT_DEPTH = 3;
/** Control characters, what only looks like a blank, and what is not seen at all. */
const DISGUISE = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/u;

/**
 * Everything that a command line would do, for a policy: each simple command, each file that a redirection writes,
 * each option that makes a reader write or run, each path that is protected or leads outside the project.
 *
 * Never throws, and gives at least one claim. A claim that is not `understood` is at best asked about.
 */
export async function analyzeCommand(command: string, options: AnalyzeOptions): Promise<PermissionClaim[]> {
  const analysis = new Analysis();
  try {
    await new CommandAnalyzer(analysis, options).analyze(command);
  } catch (error) {
    const reason =
      error instanceof TooComplex ? error.message : `it could not be judged: ${ToolError.from(error).message}`;
    return [...analysis.claims.slice(0, MAX_COMMANDS), unknownClaim(String(command), reason)];
  }
  const { claims } = analysis;
  return claims.length > 0 ? claims : [unknownClaim(String(command), 'there is no command in it')];
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
      this.#showAll(text, reading, error.message);
    }
    this.#depth--;
  }

  /** The script, if both readings find the same commands in it. */
  #read(text: string, { commands, unsupported }: GrammarReading): ScriptNode {
    if (DISGUISE.test(text))
      throw new UnreadableScript('it has characters that are not seen, or that look like others');
    const script = readScript(text); // first: its reasons are the better ones
    if (unsupported !== undefined) throw new UnreadableScript(unsupported);
    const ours = commandsOf(script)
      .map(({ words }) => words)
      .filter((words) => words.length > 0);
    const theirs = commands.map(({ raw }) => raw.flatMap(wordsIn));
    const agree = ours.length === theirs.length && ours.every((words, index) => sameWords(words, theirs[index] ?? []));
    if (!agree) throw new UnreadableScript('two readings of it do not agree on what it runs');
    return script;
  }

  /** Not understood: every command that was found in it is shown, so that a deny rule sees it too. */
  #showAll(text: string, { commands }: GrammarReading, reason: string): void {
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

function sameWords(ours: readonly ShellWord[], theirs: readonly ShellWord[]): boolean {
  return (
    ours.length === theirs.length &&
    ours.every(({ text, shape }, index) => text === theirs[index]?.text && shape === theirs[index].shape)
  );
}
