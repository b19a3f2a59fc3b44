// What a language server asks of us and is told: settings, folders, registrations, progress. It may change nothing.

import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { MessageConnection, ResponseError } from 'vscode-jsonrpc';
import type { ConfigurationParams, Registration, WorkspaceFolder } from 'vscode-languageserver-protocol';
import type { JsonObject } from '../../../contract/json.js';
import type { PushedDiagnostics } from './pushed-diagnostics.js';

/** More than a server has use for. */
const MAX_REGISTRATIONS = 1_000;
const MAX_PROGRESS = 1_000;
/** https://www.jsonrpc.org/specification#error_object */
const METHOD_NOT_FOUND = -32601;

/** Answers the requests of one session, and keeps what they registered. */
export class ServerRequests {
  /** The one folder that it works in. */
  readonly folders: WorkspaceFolder[];
  readonly #settings: JsonObject;
  readonly #registrations = new Map<string, Registration>();
  /** Tokens of work that has begun and not ended. */
  readonly #working = new Set<string | number>();
  #idleSince = 0;

  constructor(root: string, settings: JsonObject) {
    this.folders = [{ uri: pathToFileURL(root).href, name: basename(root) }];
    this.#settings = settings;
  }

  /** Whether it says that it is at work (indexing, loading), so that what it has said so far may not be all. */
  get isWorking(): boolean {
    return this.#working.size > 0;
  }

  /** When it last said that work has ended, by `performance.now()`: what that found may still be on its way. */
  get idleSince(): number {
    return this.#idleSince;
  }

  /** The options of what was registered for a method. */
  registered(method: string): Registration[] {
    return [...this.#registrations.values()].filter((each) => each.method === method);
  }

  /** @param refusal makes the answer to what we do not know */
  listen(
    connection: MessageConnection,
    pushed: PushedDiagnostics,
    refusal: (code: number, message: string) => ResponseError,
  ): void {
    connection.onRequest((method: string, params: unknown) => {
      const answer = this.#answer(method, params);
      pushed.wake();
      return answer === undefined ? refusal(METHOD_NOT_FOUND, `This client does not support ${method}.`) : answer;
    });
    connection.onNotification((method: string, params: unknown) => {
      if (method === 'textDocument/publishDiagnostics') pushed.take(params as object | undefined);
    });
    connection.onUnhandledProgress(({ token, value }) => {
      const { kind } = Object(value) as { kind?: unknown };
      if (kind === 'begin' && this.#working.size < MAX_PROGRESS) this.#working.add(token);
      if (kind === 'end' && this.#working.delete(token)) this.#idleSince = performance.now();
      pushed.wake();
    });
  }

  /** Undefined for what we do not know. A known one is never refused: pyright exits when its refresh is. */
  #answer(method: string, params: unknown): unknown {
    switch (method) {
      case 'workspace/configuration': {
        const { items } = Object(params) as Partial<ConfigurationParams>;
        return (Array.isArray(items) ? items : []).map((item) => settingOf(this.#settings, item?.section));
      }
      case 'workspace/workspaceFolders':
        return this.folders;
      case 'client/registerCapability':
        for (const each of listIn<Registration>(params, 'registrations')) {
          if (this.#registrations.size < MAX_REGISTRATIONS) this.#registrations.set(each.id, each);
        }
        return null;
      case 'client/unregisterCapability':
        // The misspelling is the protocol's own.
        for (const { id } of listIn<Registration>(params, 'unregisterations')) this.#registrations.delete(id);
        return null;
      case 'workspace/applyEdit':
        return { applied: false, failureReason: 'Language servers may not change files; only tools do.' };
      case 'window/showDocument':
        return { success: false };
      case 'window/showMessageRequest':
      case 'window/workDoneProgress/create':
        return null;
      default:
        return /^workspace\/\w+\/refresh$/.test(method) ? null : undefined;
    }
  }
}

function listIn<T extends object>(params: unknown, name: string): T[] {
  const list = (Object(params) as Record<string, unknown>)[name];
  return Array.isArray(list) ? (list.filter((each) => typeof each === 'object' && each !== null) as T[]) : [];
}

/** A section by its dotted name; null, as the protocol wants it, for none. */
function settingOf(settings: JsonObject, section: unknown): unknown {
  if (typeof section !== 'string' || section === '') return settings;
  let value: unknown = settings;
  for (const name of section.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
