// Errors for a provider's process that ended: how, why, and what to do next.

import { ToolError, type ToolErrorCode } from '@toolwright/core';
import { lastText, withoutSecrets, type StartOutput } from '@toolwright/core/internal';
import type { Child, ChildExit } from '@toolwright/core/process';
import { REFUSED_EXIT_CODE } from '../wire/protocol.js';

/** What is known about a process that ended or failed. */
export interface ProcessTrace {
  name: string;
  /** The file or command, for messages. */
  program: string;
  child: Child;
  stdoutTail: () => string;
  /** Secrets, which are redacted in messages. */
  secrets: readonly string[]; // replaced when new ones are set
}

const SHOWN_CHARACTERS = 4_000;

/** The end of what the process wrote. */
export function lastOutput({ child, stdoutTail, secrets }: ProcessTrace): string {
  const stderr = lastText(withoutSecrets(child.stderrTail(), secrets), SHOWN_CHARACTERS);
  return stderr === '' ? lastText(withoutSecrets(stdoutTail(), secrets), SHOWN_CHARACTERS) : stderr;
}

/** {@link lastOutput}, as a sentence and as details of an error. */
export function startOutput(trace: ProcessTrace): StartOutput {
  const output = lastOutput(trace);
  if (output === '') return { text: 'It wrote nothing to stderr.' };
  return { text: `Its output ends:\n${output}`, details: { stderr: output } };
}

/** The error for a process that ended, or did not come up. */
export function endError(
  trace: ProcessTrace,
  code: ToolErrorCode,
  what: string,
  exit: ChildExit | undefined,
  hint?: string,
): ToolError {
  const { text, details } = startOutput(trace);
  const advice = hint ?? (exit && hintFor(exit, text));
  return new ToolError(
    code,
    `The provider "${trace.name}" ${what}.${advice === undefined ? '' : ` ${advice}`} ${text}`,
    {
      provider: trace.name,
      details: {
        ...(exit && { exitCode: exit.code, signal: exit.signal }),
        ...details,
        ...(exit?.code === REFUSED_EXIT_CODE && { permanent: true }),
      },
    },
  );
}

/** "exited with code 1", "was ended by SIGKILL". */
export function howItEnded({ code, signal }: ChildExit): string {
  return signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
}

/** The most likely cause, for a person. */
function hintFor({ code, signal }: ChildExit, output: string): string | undefined {
  if (/Cannot find (module|package)|ERR_MODULE_NOT_FOUND|ModuleNotFoundError/.test(output)) {
    return 'A module that it imports is not installed.';
  }
  if (/ERR_UNKNOWN_FILE_EXTENSION|ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX/.test(output)) {
    return "This runtime cannot run the file; set runtime, for example to 'tsx'.";
  }
  if (/SyntaxError/.test(output)) return 'The file cannot be parsed.';
  if (signal === 'SIGKILL' || code === 137) return 'It was killed, or the system ran out of memory.';
  if (signal === 'SIGSEGV' || code === 139) return 'It crashed in native code.';
  if (code === 126) return 'The program is not executable.';
  if (code === 127) return 'The program was not found.';
  if (code === 0) return 'A provider file ends with startProvider(provider), which keeps it running.';
  return undefined;
}
