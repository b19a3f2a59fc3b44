// The language servers that are known by name: their files, where a project of theirs begins, how they are found, and the
// settings that keep them from running or downloading anything.

import { join } from 'node:path';
import type { MissingServer, ServerCommand } from '../lsp/launch.js';
import type { ProgramPlaces } from './program-places.js';
import { locateTypeScript } from './typescript-server.js';

/** A known language server. */
export interface LanguagePreset {
  name: string;
  /** The protocol's language by extension, with the dot. */
  languages: Readonly<Record<string, string>>;
  /** File names; the nearest parent directory with one of them is the server's root; empty: the project. */
  rootMarkers: readonly string[];
  /** True if it runs code of the project (build scripts, macros), so that it requires trust. */
  needsTrust?: boolean | undefined;
  /** True for data and pages: without a server they do not make the check of a directory incomplete. */
  isOptional?: boolean | undefined;
  locate(places: ProgramPlaces): Promise<ServerCommand | MissingServer>;
}

/** All presets. @param typescript the configured TypeScript package */
export function presets(typescript: string | undefined): LanguagePreset[] {
  return [
    {
      name: 'typescript',
      languages: {
        '.ts': 'typescript',
        '.mts': 'typescript',
        '.cts': 'typescript',
        '.tsx': 'typescriptreact',
        '.js': 'javascript',
        '.mjs': 'javascript',
        '.cjs': 'javascript',
        '.jsx': 'javascriptreact',
      },
      rootMarkers: [], // it handles several tsconfig.json files and their dependencies
      locate: (places) => locateTypeScript(places, typescript),
    },
    {
      name: 'pyright',
      languages: { '.py': 'python', '.pyi': 'python' },
      rootMarkers: ['pyrightconfig.json', 'pyproject.toml', 'setup.cfg', 'setup.py'],
      locate: (places) =>
        locate(places, {
          package: ['pyright', 'langserver.index.js'],
          program: 'pyright-langserver',
          args: ['--stdio'],
          get: 'Install "pyright" (npm install pyright, or pip install pyright).',
          pullIsFinal: true,
        }),
    },
    {
      name: 'bash',
      languages: { '.sh': 'shellscript', '.bash': 'shellscript' },
      rootMarkers: [],
      isOptional: true,
      locate: (places) =>
        locate(places, {
          package: ['bash-language-server', 'out/cli.js'],
          program: 'bash-language-server',
          args: ['start'],
          get: 'Install "bash-language-server" (npm), and shellcheck, which reports the problems.',
          pushesOnce: true,
          settings: { bashIde: { backgroundAnalysisMaxFiles: 0, enableSourceErrorDiagnostics: false } },
        }),
    },
    {
      name: 'yaml',
      languages: { '.yaml': 'yaml', '.yml': 'yaml' },
      rootMarkers: [],
      isOptional: true,
      locate: (places) =>
        locate(places, {
          package: ['yaml-language-server', 'bin/yaml-language-server'],
          program: 'yaml-language-server',
          args: ['--stdio'],
          get: 'Install "yaml-language-server" (npm).',
          pushesOnce: true,
          settings: { yaml: { validate: true, schemaStore: { enable: false, url: '' } } },
        }),
    },
    extracted('json', { '.json': 'json', '.jsonc': 'jsonc' }),
    extracted('css', { '.css': 'css', '.scss': 'scss', '.less': 'less' }),
    extracted('html', { '.html': 'html', '.htm': 'html' }),
    {
      name: 'gopls',
      languages: { '.go': 'go' },
      rootMarkers: ['go.work', 'go.mod'],
      locate: (places) =>
        locate(places, {
          program: 'gopls',
          args: ['serve'],
          get: 'Install gopls (go install golang.org/x/tools/gopls@latest).',
          // Prevents downloads of toolchains and modules, and git commands in the project's repository.
          extraEnv: { GOTOOLCHAIN: 'local', GOPROXY: 'off', GOFLAGS: '-mod=readonly -buildvcs=false' },
        }),
    },
    {
      name: 'rust-analyzer',
      languages: { '.rs': 'rust' },
      rootMarkers: ['Cargo.toml', 'rust-project.json'],
      needsTrust: true,
      locate: (places) =>
        locate(places, {
          program: 'rust-analyzer',
          args: [],
          get: 'Install rust-analyzer (rustup component add rust-analyzer).',
          extraEnv: { CARGO_NET_OFFLINE: 'true' },
        }),
    },
    {
      name: 'clangd',
      languages: { '.c': 'c', '.h': 'c', '.cc': 'cpp', '.cpp': 'cpp', '.cxx': 'cpp', '.hh': 'cpp', '.hpp': 'cpp' },
      rootMarkers: ['compile_commands.json', 'compile_flags.txt', '.clangd'],
      locate: (places) =>
        locate(places, {
          program: 'clangd',
          args: ['--background-index=false', '--enable-config=false'],
          get: 'Install clangd (it comes with LLVM).',
          pushesOnce: true,
        }),
    },
  ];
}

/** A server of the package vscode-langservers-extracted. */
function extracted(name: string, languages: Readonly<Record<string, string>>): LanguagePreset {
  const program = `vscode-${name}-language-server`;
  return {
    name,
    languages,
    rootMarkers: [],
    isOptional: true,
    locate: (places) =>
      locate(places, {
        package: ['vscode-langservers-extracted', `bin/${program}`],
        program,
        args: ['--stdio'],
        get: 'Install "vscode-langservers-extracted" (npm).',
        pushesOnce: true,
        // Prevents fetching of schemas by URL.
        initializationOptions: { provideFormatter: false, handledSchemaProtocols: ['file'] },
        settings: { json: { validate: { enable: true } }, css: {}, scss: {}, less: {}, html: {} },
      }),
  };
}

interface Recipe extends Omit<ServerCommand, 'command'> {
  /** An npm package and its script. */
  package?: readonly [name: string, script: string];
  /** A program on the PATH. */
  program: string;
  /** How to install it. */
  get: string;
}

async function locate(
  places: ProgramPlaces,
  { package: from, program, get, ...rest }: Recipe,
): Promise<ServerCommand | MissingServer> {
  const found = from && (await places.findPackage(from[0]));
  if (from && found) {
    const script = join(found.directory, from[1]);
    return { ...rest, version: found.version, command: process.execPath, args: [script, ...rest.args] };
  }
  const command = await places.onPath(program);
  return command === undefined ? { hint: get } : { ...rest, command };
}
