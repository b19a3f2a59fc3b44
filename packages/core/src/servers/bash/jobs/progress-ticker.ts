// Telling the caller how a command comes along: not at every byte, and what came last is told in the end.

import type { ToolContext } from '../../../tool/define-tool.js';
import type { CommandOutput } from '../output/command-output.js';

const INTERVAL_MS = 200;
/** Of the output's end, as text, so many characters. */
const SHOWN_CHARS = 2_000;

/** Reports the number of bytes and the end of the output, at most five times a second. */
export class ProgressTicker {
  readonly #ctx: ToolContext;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(ctx: ToolContext) {
    this.#ctx = ctx;
  }

  /** To be called whenever output came. */
  tick(output: CommandOutput): void {
    if (this.#stopped) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#ctx.progress({ progress: output.timeline.total, message: output.lastText(SHOWN_CHARS) });
    }, INTERVAL_MS);
  }

  /** The call has its answer; nothing is reported any more. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
