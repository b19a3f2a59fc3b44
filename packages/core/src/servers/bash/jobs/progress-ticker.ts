// Progress reports while a command runs.

import type { ToolContext } from '../../../tool/define-tool.js';
import type { CommandOutput } from '../output/command-output.js';

const INTERVAL_MS = 200;
/** Characters of the end of the output. */
const SHOWN_CHARS = 2_000;

/** Reports the number of bytes and the end of the output, at most five times a second. */
export class ProgressTicker {
  readonly #ctx: ToolContext;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(ctx: ToolContext) {
    this.#ctx = ctx;
  }

  /** To be called for each chunk of output. */
  tick(output: CommandOutput): void {
    if (this.#stopped) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#ctx.progress({ progress: output.timeline.total, message: output.lastText(SHOWN_CHARS) });
    }, INTERVAL_MS);
  }

  /** To be called when the call has its answer. Nothing is reported afterwards. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }
}
