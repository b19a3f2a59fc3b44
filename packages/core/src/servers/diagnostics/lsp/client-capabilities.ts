// The client capabilities sent to a language server. They decide how it reports: pyright, for one, stops pushing when
// pull diagnostics may be registered.

import type { ClientCapabilities } from 'vscode-languageserver-protocol';

/** https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#clientCapabilities */
export const CLIENT_CAPABILITIES: ClientCapabilities = {
  general: {
    positionEncodings: ['utf-16'],
    staleRequestSupport: { cancel: true, retryOnContentModified: ['textDocument/diagnostic'] },
  },
  workspace: {
    applyEdit: false,
    configuration: true,
    workspaceFolders: true,
    didChangeConfiguration: { dynamicRegistration: true },
    didChangeWatchedFiles: { dynamicRegistration: true, relativePatternSupport: true },
    diagnostics: { refreshSupport: true },
    workspaceEdit: { documentChanges: true, failureHandling: 'abort' },
    symbol: { dynamicRegistration: true },
  },
  textDocument: {
    synchronization: { dynamicRegistration: true, didSave: true },
    publishDiagnostics: { versionSupport: true, relatedInformation: false },
    diagnostic: { dynamicRegistration: true, relatedDocumentSupport: true },
    definition: { dynamicRegistration: true, linkSupport: true },
    implementation: { dynamicRegistration: true, linkSupport: true },
    references: { dynamicRegistration: true },
    hover: { dynamicRegistration: true, contentFormat: ['markdown', 'plaintext'] },
    documentSymbol: { dynamicRegistration: true, hierarchicalDocumentSymbolSupport: true },
    rename: { dynamicRegistration: true, prepareSupport: true },
  },
  window: { workDoneProgress: true },
};
