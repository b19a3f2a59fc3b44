// Answers a language server's requests (settings, folders, registrations, progress). It may not change anything.

import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { MessageConnection, ResponseError } from 'vscode-jsonrpc';
import type { ConfigurationParams, Registration, WorkspaceFolder } from 'vscode-languageserver-protocol';
import type { JsonObject } from '../../../contract/json.js';
import type { PushedDiagnostics } from './pushed-diagnostics.js';

/** The limit of registrations. */
const MAX_REGISTRATIONS = 1_000;
const MAX_PROGRESS = 1_000;
/** https://www.jsonrpc.org/specification#error_object */
const METHOD_NOT_FOUND = -32601;

/** Answers the requests of one session, and stores its registrations. */
export class ServerRequests {
  /** The workspace folder. */
  readonly folders: WorkspaceFolder[];
  readonly #settings: JsonObject;
  readonly #registrations = new Map<string, Registration>();
  /** The tokens of progress that has not ended. */
  readonly #working = new Set<string | number>();
  #idleSince = 0;

  constructor(root: string, settings: JsonObject) {
    this.folders = [{ uri: pathToFileURL(root).href, name: basename(root) }];
    this.#settings = settings;
  }

  /** Whether it reports progress (indexing, loading), so that its results may be incomplete. */
  get isWorking(): boolean {
    return this.#working.size > 0;
  }

  /** When progress last ended, as a time of `performance.now()`: its results may still arrive. */
  get idleSince(): number {
    return this.#idleSince;
  }

  /** The registered options of a method. */
  registered(method: string): Registration[] {
    return [...this.#registrations.values()].filter((each) => each.method === method);
  }

  /** @param refusal creates the error for an unknown request */
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

  /** Undefined for an unknown request. A known one is never refused: pyright exits when its refresh is. */
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
        // The misspelling is the protocol's.
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

/** A section by its dotted name; null if missing, as the protocol requires. */
function settingOf(settings: JsonObject, section: unknown): unknown {
  if (typeof section !== 'string' || section === '') return settings;
  let value: unknown = settings;
  for (const name of section.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}
