// The shape that the kits of all vendors have. A vendor's file adds the forms of its API.

import type { Directive } from '../contract/directives.js';
import { ToolError } from '../contract/errors.js';
import type { ModelCallResult, ToolKitCore } from './kit-core.js';
import type { KitTool } from './kit-tools.js';
import type { SchemaLoss } from './schema-loss.js';

/** The outcome of the calls of one message of a model. */
export interface Turn<Message, Output> {
  /** What to add to the conversation: the model's message, and the messages with the results. */
  messages: Message[];
  /** The results in the vendor's form, in the order of the calls. */
  outputs: Output[];
  /** The results, in the same order. */
  results: ModelCallResult[];
  /** The directives of all results. */
  directives: readonly Directive[];
  /** True when the model called nothing, or a result has the directive `stop_processing`: the loop ends. */
  done: boolean;
}

/** The tools of a provider in the form of one API. */
export abstract class ToolKit<Tool, Call, Output> implements Disposable {
  /** @internal */
  protected readonly core: ToolKitCore;
  #from: readonly KitTool[] | undefined;
  #tools: Tool[] = [];

  /** @internal */
  constructor(core: ToolKitCore) {
    this.core = core;
  }

  /** The tools to pass with each request, as copies. Another array after each change of the provider's list. */
  get tools(): Tool[] {
    if (this.#from !== this.core.tools) {
      this.#from = this.core.tools;
      this.#tools = this.toVendor(this.core.tools);
    }
    return this.#tools;
  }

  /** What the API does not see of the tools' schemas, and which tools are not offered. */
  get losses(): readonly SchemaLoss[] {
    return this.core.losses;
  }

  /** The qualified name of the tool that the model means by a name; undefined if there is none. */
  resolve(modelName: string): string | undefined {
    return this.core.find(modelName)?.definition.name;
  }

  /** Runs one call. Never rejects: a failure is a result in the vendor's form. */
  abstract dispatch(call: Call): Promise<Output>;

  /** Stops following changes of the list; calls still work. Not required: an unused kit is collected. */
  close(): void {
    this.core.close();
  }

  /** Calls {@link close}, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** @internal */
  protected abstract toVendor(tools: readonly KitTool[]): Tool[];
}

/**
 * Checks what was passed to `answer`, which is easily the wrong part of a response.
 *
 * @throws {ToolError} INVALID_ARGUMENT
 */
export function assertAnswerable(isMessage: boolean, what: string): void {
  if (!isMessage) throw new ToolError('INVALID_ARGUMENT', `answer() takes ${what}.`);
}
