// The layers of the packages: a folder imports only folders before it in its list, and no file is in an import cycle,
// `import type` included. docs/architecture.md draws the layers.

/** The folders of core, from the bottom up. Each may import itself and those before it. */
const CORE = [
  'contract',
  'call',
  'tool',
  'process',
  'provider',
  'recording',
  'adapters',
  'hub',
  'mcp',
  'openapi',
  'servers/project',
  'servers/(agent|bash|diagnostics|filesystem|git|memory)',
  'servers/index.ts',
  'testing',
];
const RUNTIME = ['wire', 'provider', 'process', 'supervise', 'reload', 'testing'];
const GATEWAY = ['engines', 'forwarding', 'session', 'stream', 'http', 'testing'];

/** `InProcessToolProvider.forProject()`, a static method, creates the servers that are above its class. */
const FOR_PROJECT = '^packages/core/src/provider/in-process-provider[.]ts$';

/** One rule for each folder: it does not import folders after it in the list. */
const layers = (name, rooms) =>
  rooms.slice(0, -1).map((room, index) => ({
    name: `${name}-${room.replace(/\W+/g, '-')}-imports-downwards`,
    severity: 'error',
    from: { path: `^packages/${name}/src/${room}`, pathNot: FOR_PROJECT },
    to: { path: `^packages/${name}/src/(${rooms.slice(index + 1).join('|')})` },
  }));

export default {
  forbidden: [
    { name: 'no-cycle', severity: 'error', from: {}, to: { circular: true } },
    ...layers('core', CORE),
    {
      name: 'core-provider-imports-servers-for-for-project-only',
      severity: 'error',
      from: { path: FOR_PROJECT },
      to: {
        path: '^packages/core/src/(adapters|hub|mcp|openapi|servers|testing)',
        pathNot: '^packages/core/src/servers/(index|project/scope/project-scope)[.]ts$',
      },
    },
    ...layers('runtime', RUNTIME),
    ...layers('gateway', GATEWAY),
    {
      name: 'contract-imports-nothing',
      severity: 'error',
      from: { path: '^packages/core/src/contract/' },
      to: { pathNot: '^packages/core/src/contract/' },
    },
    {
      name: 'servers-do-not-import-each-other',
      severity: 'error',
      from: { path: '^packages/core/src/servers/(agent|bash|diagnostics|filesystem|git|memory)/' },
      to: {
        path: '^packages/core/src/servers/(agent|bash|diagnostics|filesystem|git|memory)/',
        pathNot: '^packages/core/src/servers/$1/',
      },
    },
    {
      name: 'servers-import-authoring-only',
      severity: 'error',
      from: { path: '^packages/core/src/servers/' },
      to: { path: '^packages/core/src/(provider|hub|mcp|openapi|adapters|testing|internal)/' },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '/(dist|test|node_modules)/' },
  },
};
