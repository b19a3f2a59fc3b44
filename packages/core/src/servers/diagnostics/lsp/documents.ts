// The open documents of a language server: versioned, and the least recently used are closed.

import { pathToFileURL } from 'node:url';
import type { Diagnostic } from '../../project/diagnostic-rows.js';
import type { ServerCapabilities } from 'vscode-languageserver-protocol';
import type { PushedDiagnostics } from './pushed-diagnostics.js';

/** The limit of open documents; the least recently used are closed. */
const MAX_OPEN = 200;
/** The limit of all open texts; the most recent one is always open. */
const MAX_CHARACTERS = 32 * 1024 * 1024;

/** A document as the server knows it. */
export interface OpenDocument {
  /** The absolute path with links resolved. */
  readonly absolute: string;
  readonly uri: string;
  readonly languageId: string;
  version: number;
  text: string;
  /** The file's stamp when it was read; empty if unreliable. */
  stamp: string;
  /** When this version was sent, as a time of `performance.now()`. */
  changedAt: number;
  /** Whether the result for the previous version was complete when it changed. */
  wasSettled: boolean;
  /** Whether the result for this version is complete. */
  isSettled: boolean;
  /** The latest complete diagnostics, with their text; undefined before the first. */
  said?: { diagnostics: readonly Diagnostic[]; text: string };
}

/** What documents need of their session. */
export interface DocumentSession {
  readonly pushed: PushedDiagnostics;
  readonly capabilities: ServerCapabilities;
  notify(method: string, params: unknown): void;
}

/** Opens, changes and closes documents; each change is sent once. */
export class Documents {
  readonly #session: DocumentSession;
  readonly #open = new Map<string, OpenDocument>();

  constructor(session: DocumentSession) {
    this.#session = session;
  }

  /** The open documents, least recently used first. */
  get all(): OpenDocument[] {
    return [...this.#open.values()];
  }

  get(absolute: string): OpenDocument | undefined {
    return this.#open.get(absolute);
  }

  /** Sends this text to the server. */
  show(absolute: string, languageId: string, text: string, stamp: string): OpenDocument {
    const known = this.#open.get(absolute);
    if (known) {
      this.#open.delete(absolute); // makes it the most recent
      this.#open.set(absolute, known);
      known.stamp = stamp;
      if (known.text !== text) this.#change(known, text);
      return known;
    }
    const document: OpenDocument = {
      absolute,
      uri: pathToFileURL(absolute).href,
      languageId,
      version: 1,
      text,
      stamp,
      changedAt: performance.now(),
      wasSettled: true,
      isSettled: false,
    };
    this.#open.set(absolute, document);
    const { uri, version } = document;
    this.#session.pushed.forget(absolute);
    this.#session.notify('textDocument/didOpen', { textDocument: { uri, languageId, version, text } });
    this.#makeRoom(absolute);
    return document;
  }

  close(absolute: string): void {
    const document = this.#open.get(absolute);
    if (!document) return;
    this.#open.delete(absolute);
    this.#session.pushed.forget(absolute);
    this.#session.notify('textDocument/didClose', { textDocument: { uri: document.uri } });
  }

  #makeRoom(youngest: string): void {
    let characters = 0;
    for (const { text } of this.#open.values()) characters += text.length;
    for (const [oldest, { text }] of this.#open) {
      if ((this.#open.size <= MAX_OPEN && characters <= MAX_CHARACTERS) || oldest === youngest) return;
      characters -= text.length;
      this.close(oldest);
    }
  }

  /** Sends the whole text, which all servers accept and none can apply wrongly. */
  #change(document: OpenDocument, text: string): void {
    document.text = text;
    document.version++;
    document.wasSettled = document.isSettled;
    document.isSettled = false;
    document.changedAt = performance.now();
    this.#session.pushed.forget(document.absolute);
    const { uri, version } = document;
    this.#session.notify('textDocument/didChange', { textDocument: { uri, version }, contentChanges: [{ text }] });
    const sync = this.#session.capabilities.textDocumentSync;
    const save = typeof sync === 'object' ? sync.save : undefined;
    // The server's text equals the file.
    if (save) {
      const withText = typeof save === 'object' && save.includeText === true;
      this.#session.notify('textDocument/didSave', { textDocument: { uri }, ...(withText && { text }) });
    }
  }
}
