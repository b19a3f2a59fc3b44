// A project for the analyzer, a hub whose one tool claims what the analyzer returns, and a real bash.

import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import {
  defineServer,
  defineTool,
  InProcessToolProvider,
  ToolHub,
  type PermissionClaim,
  type PolicyAction,
  type PolicyRule,
} from '@toolwright/core';
import { spawnChild } from '@toolwright/core/process';
import { createTestProject, type TestProject } from '@toolwright/core/testing';
import { analyzeCommand } from '../../../../src/servers/bash/policy/analyze-command.js';
import { ProjectFiles } from '../../../../src/servers/project/project-files.js';

const EVIL = { content: '#!/bin/sh\ntouch canary\n', mode: 0o755 };

/** A project with links that lead outside, programs named like readers, and the directory that the links lead to. */
export async function createAnalyzedProject(
  options: { git?: boolean } = {},
): Promise<TestProject & { outside: string }> {
  const outside = await realpath(await mkdtemp(join(tmpdir(), `toolwright-${process.pid}-outside-`)));
  await writeFile(join(outside, 'x'), 'secret\n');
  const project = await createTestProject(
    {
      a: 'one\ntwo\n',
      'package.json': '{ "scripts": { "test": "true" } }\n',
      'README.md': '# Read\n',
      'src/a.ts': 'export {};\n',
      'src/b.ts': 'export {};\n',
      'src/deep/c.ts': 'export {};\n',
      'x.js': '',
      'evil.sh': EVIL,
      'evil.cjs': "require('fs').writeFileSync('canary', '');\n",
      'evil.sed': '1e touch canary\n',
      'evil.awk': 'BEGIN { system("touch canary") }\n',
      ls: EVIL,
      cat: EVIL,
      'bin/ls': { content: '#!/bin/sh\n: > canary\n', mode: 0o755 },
      'bin/mine': { content: '#!/bin/sh\n: > canary\n', mode: 0o755 },
      out: { link: outside },
      outfile: { link: join(outside, 'x') },
      'src/link': { link: outside },
      up: { link: 'src/deep' },
      'src/top': { link: '..' },
      '.vscode/deep/x': 'x',
      'src/deep/settings': { link: '../../.vscode' },
    },
    options,
  );
  return Object.assign(project, {
    outside,
    [Symbol.asyncDispose]: async () => {
      await rm(project.projectDir, { recursive: true, force: true, maxRetries: 3 });
      await rm(outside, { recursive: true, force: true, maxRetries: 3 });
    },
  });
}

/** Rules that allow commands by their first words; a pattern with a `*` is used as it is. */
export function allowing(...patterns: string[]): PolicyRule[] {
  return patterns.map((pattern) => ({
    tool: 'bash.execute',
    pattern: pattern.includes('*') ? pattern : `${pattern} *`,
    action: 'allow',
  }));
}

export interface AnalyzerHub {
  readonly files: ProjectFiles;
  /** What the policy does with a command. */
  action(command: string, cwd?: string): Promise<PolicyAction>;
  claims(command: string, cwd?: string): Promise<PermissionClaim[]>;
}

/** A real hub with these rules. Its default is to ask. */
export function createAnalyzerHub(projectDir: string, rules: readonly PolicyRule[]): AnalyzerHub {
  const files = new ProjectFiles({ projectDir });
  const execute = defineTool({
    name: 'execute',
    description: 'Claims what a command would do, and runs nothing.',
    input: {
      type: 'object',
      properties: { command: { type: 'string' }, cwd: { type: 'string' } },
      required: ['command', 'cwd'],
    },
    permission: ({ command, cwd }) => analyzeCommand(command, { files, cwd }),
    execute: () => 'allowed',
  });
  const hub = new ToolHub({
    providers: [
      new InProcessToolProvider({ servers: [defineServer({ name: 'bash', version: '1', tools: [execute] })] }),
    ],
    policy: { rules, default: 'ask' },
  });
  return {
    files,
    claims: (command, cwd = '.') => analyzeCommand(command, { files, cwd }),
    action: async (command, cwd = '.') => {
      const { error } = await hub.callTool('bash.execute', { command, cwd });
      if (!error) return 'allow';
      if (error.code === 'APPROVAL_REQUIRED') return 'ask';
      if (error.code === 'PERMISSION_DENIED') return 'deny';
      throw new Error(error.message);
    },
  };
}

/** Runs a command in a real bash. */
export async function runBash(command: string, cwd: string): Promise<void> {
  const env = { PATH: process.env.PATH ?? '', HOME: cwd, LANG: 'C.UTF-8' };
  await using child = spawnChild({ command: 'bash', args: ['--noprofile', '--norc', '-c', command], cwd, env });
  // A process in the background holds the pipes until it ends.
  const ended = Promise.all([finished(child.stdout.resume()), finished(child.stderr.resume())]);
  await child.exited;
  await ended;
}
