// The documents that are open in a language server: opened once, versioned, and the oldest closed when there are many.

import { pathToFileURL } from 'node:url';
import type { Diagnostic } from '../../project/diagnostic-rows.js';
import type { ServerCapabilities } from 'vscode-languageserver-protocol';
import type { PushedDiagnostics } from './pushed-diagnostics.js';

/** More than these are closed again, the longest unused first. */
const MAX_OPEN = 200;
/** The texts of all that are open; the youngest is open whatever it has. */
const MAX_CHARACTERS = 32 * 1024 * 1024;

/** A document as the server has it. */
export interface OpenDocument {
  /** Absolute and real. */
  readonly absolute: string;
  readonly uri: string;
  readonly languageId: string;
  version: number;
  text: string;
  /** Of the file, when it was read; empty when that says nothing. */
  stamp: string;
  /** By `performance.now()`: what the server says from then on can be of this version. */
  changedAt: number;
  /** Whether the server had said all of the version before this one when it was changed. */
  wasSettled: boolean;
  /** Whether the server has said all of this version. */
  isSettled: boolean;
  /** What it said last, and of which text; undefined before it has said all of one. */
  said?: { diagnostics: readonly Diagnostic[]; text: string };
}

/** What documents need of the session that they are open in. */
export interface DocumentSession {
  readonly pushed: PushedDiagnostics;
  readonly capabilities: ServerCapabilities;
  notify(method: string, params: unknown): void;
}

/** Opens, changes and closes; the server is told of each change once. */
export class Documents {
  readonly #session: DocumentSession;
  readonly #open = new Map<string, OpenDocument>();

  constructor(session: DocumentSession) {
    this.#session = session;
  }

  /** All that are open, the longest unused first. */
  get all(): OpenDocument[] {
    return [...this.#open.values()];
  }

  get(absolute: string): OpenDocument | undefined {
    return this.#open.get(absolute);
  }

  /** Makes the server see this text. */
  show(absolute: string, languageId: string, text: string, stamp: string): OpenDocument {
    const known = this.#open.get(absolute);
    if (known) {
      this.#open.delete(absolute); // so that it is the youngest
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

  /** The whole text goes: it is as right for servers that take parts, and nothing can be applied wrongly. */
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
    // What is shown is what is on the disk.
    if (save) {
      const withText = typeof save === 'object' && save.includeText === true;
      this.#session.notify('textDocument/didSave', { textDocument: { uri }, ...(withText && { text }) });
    }
  }
}
