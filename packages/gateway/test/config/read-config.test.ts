// Configuration files: their formats, their faults with lines, variables, and what is never shown.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ToolError } from '@toolwright/core';
import { createTestProject } from '@toolwright/core/testing';
import { parseConfig, readConfig } from '@toolwright/gateway/config';
import { describe, expect, it } from 'vitest';
import { documentedSchema } from '../../../../tools/config-schema.js';

function faultsOf(text: string, file = '/p/toolwright.json', env: Record<string, string> = {}): string[] {
  try {
    parseConfig(text, file, { env });
  } catch (thrown) {
    const error = thrown as ToolError;
    expect(error.code).toBe('INVALID_ARGUMENT');
    return error.message.split('\n').map((line) => line.replaceAll('/p/', ''));
  }
  return [];
}

const JSON_TEXT = `{
  // comments and trailing commas are fine
  "version": 1,
  "mcpServers": { "a": { "command": "x", "args": ["y"], },
  },
}`;
const YAML_TEXT = 'version: 1\nmcpServers:\n  a: { command: x, args: [y] }\n';
const SAME = { version: 1, mcpServers: { a: { command: 'x', args: ['y'] } } };

describe('parseConfig()', () => {
  it.each([
    ['toolwright.json', JSON_TEXT],
    ['toolwright.jsonc', JSON_TEXT],
    ['toolwright.yaml', YAML_TEXT],
    ['toolwright.yml', YAML_TEXT],
    ['toolwright.json', `\uFEFF${JSON_TEXT}`],
  ])('reads %s', (name, text) => {
    expect(parseConfig(text, `/p/${name}`).config).toEqual(SAME);
  });

  it.each<[string, string, string]>([
    ['an unknown key', '{\n"providrs": {}\n}', 'toolwright.json:2: providrs: unknown key; did you mean `providers`?'],
    [
      'an unknown key of a server',
      '{"mcpServers": {\n"a": {\n"comand": "x"}}}',
      'toolwright.json:3: mcpServers.a.comand: unknown key; did you mean `command`?',
    ],
    ['another version', '{\n\n"version": 2}', 'toolwright.json:3: version: expected 1, not 2.'],
    [
      'a wrong type',
      '{"mcpServers": {"a":\n{"command": "x", "args": "y"}}}',
      'toolwright.json:2: mcpServers.a.args: expected a list, not "y".',
    ],
    [
      'a wrong choice',
      '{"policy": {"default": "no"}}',
      'toolwright.json:1: policy.default: expected "allow" or "ask" or "deny", not "no".',
    ],
    [
      'a wrong item',
      '{"policy": {"rules": [\n{"tool": 1, "action": "ask"}]}}',
      'toolwright.json:2: policy.rules[0].tool: expected a text, not 1.',
    ],
    [
      'a number out of range',
      '{"gateway": {"http": {"port": 70000}}}',
      'toolwright.json:1: gateway.http.port: expected a number of at most 65535, not 70000.',
    ],
    [
      'a wrong alternative',
      '{"builtins": {"bash": 1}}',
      'toolwright.json:1: builtins.bash: expected true or false or an object, not 1.',
    ],
    [
      'an unknown built-in',
      '{"builtins": {"bsh": true}}',
      'toolwright.json:1: builtins.bsh: unknown key; did you mean `bash`?',
    ],
    [
      'two places of a server',
      '{"mcpServers": {"a": {"command": "x", "url": "y"}}}',
      'toolwright.json:1: mcpServers.a: set one of command, url, socket and container.',
    ],
    [
      'a provider without a file',
      '{"providers": {"a": {}}}',
      'toolwright.json:1: providers.a: set either path or command.',
    ],
    ['text that is not JSON', '{\n"a": }', 'toolwright.json:2: the file cannot be parsed: value expected.'],
    ['nothing', '', 'toolwright.json:1: the file cannot be parsed: value expected.'],
    ['a list', '[]', 'toolwright.json:1: expected an object, not an array.'],
  ])('reports %s with its line', (_, text, expected) => {
    expect(faultsOf(text).join('\n')).toContain(expected);
  });

  it('reports every fault, also those of YAML, with their lines', () => {
    expect(
      faultsOf('version: 1\npolicy:\n  default: no\nmcpServers:\n  a:\n    args: 5\n', '/p/toolwright.yaml'),
    ).toEqual([
      'toolwright.yaml:3: policy.default: expected "allow" or "ask" or "deny", not "no".',
      'toolwright.yaml:6: mcpServers.a.args: expected a list, not 5.',
    ]);
    expect(faultsOf('a: [', '/p/toolwright.yaml')[0]).toMatch(/^toolwright\.yaml:1: the file cannot be parsed: /);
  });

  it('refuses a YAML file whose aliases expand without bound', () => {
    const bomb = [
      'a: &a [x, x, x, x, x, x, x, x]',
      ...'bcdefghi'.split('').map((to, at) => `${to}: &${to} [${`*${'abcdefgh'[at]!}, `.repeat(8)}]`),
    ];
    expect(faultsOf(bomb.join('\n'), '/p/toolwright.yaml')[0]).toContain('the file cannot be parsed');
  });

  it.each([
    ['toolwright.json', '['.repeat(100_000)],
    ['toolwright.yaml', `a: ${'{a: '.repeat(5_000)}`],
    ['toolwright.yaml', Array.from({ length: 2_000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n')],
  ])('refuses %s when it is nested too deeply', (name, text) => {
    expect(faultsOf(text, `/p/${name}`)).toEqual([
      `${name}: the file cannot be parsed: it is nested deeper than 200 levels.`,
    ]);
  });

  it('replaces variables, with their defaults', () => {
    const text =
      '{"mcpServers": {"a": {"command": "${A}", "args": ["${B:-b}", "${C:-}", "$${A}", "x${A}y"]}}, "gateway": {"http": {"port": "${PORT:-3000}"}}}';
    const { config } = parseConfig(text, '/p/toolwright.json', { env: { A: 'one', B: '' } });
    expect(config).toEqual({
      mcpServers: { a: { command: 'one', args: ['b', '', '${A}', 'xoney'] } },
      gateway: { http: { port: 3000 } },
    });
  });

  it('reports a variable without a value, and takes none from prototypes', () => {
    expect(faultsOf('{"mcpServers": {"a": {\n"command": "${constructor}"}}}')).toEqual([
      'toolwright.json:2: mcpServers.a.command: the variable constructor has no value: set it, or give a default: ${constructor:-…}.',
    ]);
  });

  it('shows no value of a variable and no secret in a fault', () => {
    const env = { TOKEN: 'canary-1' };
    const shown = [
      ...faultsOf('{"gateway": {"http": {"port": "${TOKEN}"}}}', '/p/toolwright.json', env),
      ...faultsOf(
        '{"mcpServers": {"a": {"url": "x", "headers": "canary-2 ${TOKEN}"}, "b": {"command": "x", "env": ["canary-3"]}}}',
        '/p/toolwright.json',
        env,
      ),
      ...faultsOf('{"mcpServers": {"a": {"url": "x", "headers": {"authorization": {"x": "canary-4"}}}}}'),
    ].join('\n');
    expect(shown).toContain('gateway.http.port: expected a number, not "${TOKEN}"');
    expect(shown).not.toContain('canary');
  });

  it('resolves projectDir from the directory of the file', () => {
    expect(parseConfig('{"projectDir": "sub"}', '/p/toolwright.json').projectDir).toBe('/p/sub');
    expect(parseConfig('{}', '/p/toolwright.json').projectDir).toBe('/p');
    expect(parseConfig('{"mcpServers": {}}', '/p/.cursor/mcp.json').projectDir).toBe('/p');
  });
});

describe('readConfig()', () => {
  it('reads a file, and says when there is none', async () => {
    await using project = await createTestProject({ 'toolwright.yaml': YAML_TEXT });
    const source = await readConfig(`${project.projectDir}/toolwright.yaml`);
    expect(source).toMatchObject({ config: SAME, projectDir: project.projectDir, notices: [] });
    expect(source.sha256).toMatch(/^[0-9a-f]{64}$/);
    await expect(readConfig(`${project.projectDir}/none.json`)).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining(
        `There is no configuration ${project.projectDir}/none.json. Give the path`,
      ) as string,
    });
  });
});

it('schema.json is the JSON Schema of the format (npm run config-schema writes it)', async () => {
  const published = await readFile(fileURLToPath(new URL('../../schema.json', import.meta.url)), 'utf8');
  expect(JSON.parse(published)).toEqual(JSON.parse(JSON.stringify(documentedSchema())));
});
