// Configuration files as other tools write them, in the shapes that their documentation and public repositories show.

import { parseConfig } from '@toolwright/gateway/config';
import { describe, expect, it } from 'vitest';

const ENV = { HOME: '/home/ada', GITHUB_TOKEN: 'token-1', DOCS_KEY: 'key-1' };
const read = (file: string, text: string): ReturnType<typeof parseConfig> => parseConfig(text, file, { env: ENV });

describe('parseConfig() of files of other tools', () => {
  it('reads claude_desktop_config.json', () => {
    const { config, notices } = read(
      '/home/ada/claude_desktop_config.json',
      `{ "mcpServers": {
        "filesystem": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/docs"] },
        "brave-search": { "command": "npx", "args": ["-y", "server"], "env": { "API_KEY": "abc" } } } }`,
    );
    expect(config.mcpServers).toEqual({
      filesystem: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/home/ada/docs'] },
      'brave-search': { command: 'npx', args: ['-y', 'server'], env: { API_KEY: 'abc' } },
    });
    expect(notices).toEqual([]);
  });

  it('reads .mcp.json of Claude Code, with variables and types', () => {
    const { config, notices } = read(
      '/p/.mcp.json',
      `{ "mcpServers": {
        "api": { "type": "http", "url": "\${API_URL:-https://api.example}/mcp", "headers": { "Authorization": "Bearer \${DOCS_KEY}" } },
        "db": { "type": "stdio", "command": "db-mcp", "args": [] } } }`,
    );
    expect(config.mcpServers).toEqual({
      api: { url: 'https://api.example/mcp', headers: { Authorization: 'Bearer key-1' } },
      db: { command: 'db-mcp', args: [] },
    });
    expect(notices).toEqual([]);
  });

  it('reads .cursor/mcp.json, with the variables of editors', () => {
    const { config, notices, projectDir } = read(
      '/p/.cursor/mcp.json',
      `{ "mcpServers": {
        "linter": { "command": "node", "args": ["\${workspaceFolder}/lint.mjs"], "env": { "T": "\${env:GITHUB_TOKEN}" }, "envFile": ".env" } } }`,
    );
    expect(projectDir).toBe('/p');
    expect(config.mcpServers).toEqual({ linter: { command: 'node', args: ['/p/lint.mjs'], env: { T: 'token-1' } } });
    expect(notices).toEqual([
      expect.stringMatching(/^\/p\/\.cursor\/mcp\.json:2: mcpServers\.linter\.envFile: is not read: set the variables/),
    ]);
  });

  it('reads .vscode/mcp.json, and leaves out what asks for an input', () => {
    const { config, notices } = read(
      '/p/.vscode/mcp.json',
      `{ "inputs": [{ "type": "promptString", "id": "key", "password": true }],
         "servers": {
           "docs": { "type": "http", "url": "https://docs.example/mcp", "headers": { "X-Key": "\${input:key}" } },
           "play": { "type": "stdio", "command": "npx", "args": ["-y", "x"], "dev": { "watch": "src" } } } }`,
    );
    expect(config.mcpServers).toEqual({ play: { command: 'npx', args: ['-y', 'x'] } });
    expect(notices).toEqual([
      expect.stringMatching(/:3: servers\.docs: needs the input "key"/),
      expect.stringMatching(/:4: servers\.play\.dev: is not supported/),
    ]);
  });

  it('reads settings.json of VS Code, whose other settings it ignores', () => {
    const { config, notices } = read(
      '/p/.vscode/settings.json',
      `{ "editor.tabSize": 2, "mcp": { "servers": { "a": { "command": "x" } } } }`,
    );
    expect(config.mcpServers).toEqual({ a: { command: 'x' } });
    expect(notices).toEqual([]);
  });

  it('reads config.toml of Codex', () => {
    const { config, notices } = read(
      '/home/ada/.codex/config.toml',
      `model = "m"
[mcp_servers.docs]
url = "https://docs.example/mcp"
bearer_token_env_var = "DOCS_KEY"
http_headers = { "X-Region" = "eu" }
[mcp_servers.build]
command = "build-mcp"
args = ["--quick"]
startup_timeout_sec = 20
tool_timeout_sec = 45.5
enabled = false
disabled_tools = ["wipe"]
[mcp_servers.build.env]
MODE = "ci"
`,
    );
    expect(config.mcpServers).toEqual({
      docs: { url: 'https://docs.example/mcp', headers: { Authorization: 'Bearer key-1', 'X-Region': 'eu' } },
      build: {
        command: 'build-mcp',
        args: ['--quick'],
        env: { MODE: 'ci' },
        startTimeoutMs: 20_000,
        callTimeoutMs: 45_500,
        disabled: true,
      },
    });
    expect(config.policy?.rules).toEqual([{ tool: 'build.wipe', action: 'deny' }]);
    expect(notices).toEqual([]);
  });

  it('reads cline_mcp_settings.json, and applies no automatic approval', () => {
    const { config, notices } = read(
      '/home/ada/cline_mcp_settings.json',
      `{ "mcpServers": { "gh": { "command": "gh-mcp", "autoApprove": ["search"], "disabled": true, "timeout": 60 } } }`,
    );
    expect(config.mcpServers).toEqual({ gh: { command: 'gh-mcp', disabled: true } });
    expect(config.policy).toBeUndefined();
    expect(notices.join('\n')).toMatch(/autoApprove: is not applied[\s\S]*timeout: is not applied/);
  });

  it('reads mcp_config.json of Windsurf and settings.json of Gemini CLI', () => {
    expect(
      read('/home/ada/mcp_config.json', '{"mcpServers": {"a": {"serverUrl": "https://a.example/sse"}}}').config
        .mcpServers,
    ).toEqual({
      a: { url: 'https://a.example/sse' },
    });
    const gemini = read(
      '/home/ada/.gemini/settings.json',
      `{ "theme": "dark", "mcpServers": { "b": { "httpUrl": "https://b.example", "includeTools": ["find"], "excludeTools": ["drop"], "trust": true } } }`,
    );
    expect(gemini.config).toEqual({
      mcpServers: { b: { url: 'https://b.example', allowedTools: ['find'] } },
      policy: { rules: [{ tool: 'b.drop', action: 'deny' }] },
    });
    expect(gemini.notices).toEqual([expect.stringContaining('mcpServers.b.trust: is not applied')]);
  });

  it('reads settings.json of Zed, opencode.json and lists of Continue', () => {
    const zed = read(
      '/home/ada/.config/zed/settings.json',
      '{"vim_mode": true, "context_servers": {"a": {"source": "custom", "command": "x", "args": []}}}',
    );
    expect(zed.config.mcpServers).toEqual({ a: { command: 'x', args: [] } });
    const opencode = read(
      '/p/opencode.json',
      '{"mcp": {"l": {"type": "local", "command": ["bun", "x"], "environment": {"A": "1"}, "enabled": true}, "r": {"type": "remote", "url": "https://r.example", "enabled": false}}}',
    );
    expect(opencode.config.mcpServers).toEqual({
      l: { command: 'bun', args: ['x'], env: { A: '1' } },
      r: { url: 'https://r.example', disabled: true },
    });
    const list = read('/p/mcp.yaml', 'mcpServers:\n  - name: My server\n    command: npx\n    args: [x]\n');
    expect(list.config.mcpServers).toEqual({ 'My-server': { command: 'npx', args: ['x'] } });
    expect(list.notices).toEqual([expect.stringContaining('the server is named "My-server" here')]);
  });

  it('reads memcp.yaml', () => {
    const { config, notices } = read(
      '/p/memcp.yaml',
      `version: 1.0.0
name: demo
providers:
  calculator: { path: ./calculator.ts, config: { mode: fast } }
  ./notes.py: {}
server: { transport: http, port: 3000 }
dev: { hotReload: true }
memorybank: { enabled: true, root: ./docs }
`,
    );
    expect(config).toMatchObject({
      providers: { calculator: { path: './calculator.ts', watch: true, config: { mode: 'fast' } } },
      builtins: { memory: true, bash: false },
      gateway: { http: { port: 3000 } },
    });
    expect(notices.join('\n')).toMatch(/\.\/notes\.py: has no file[\s\S]*memorybank: only enabled/);
  });

  it('leaves out one server whose variable has no value', () => {
    const { config, notices } = read(
      '/p/.mcp.json',
      '{"mcpServers": {"a": {"command": "x", "env": {"K": "${NOT_SET}"}}, "b": {"command": "y"}}}',
    );
    expect(config.mcpServers).toEqual({ b: { command: 'y' } });
    expect(notices.join()).toContain('the variable NOT_SET has no value');
  });

  it('leaves out a server, and no rule of another, when a tool that it disables has no value', () => {
    const servers = { a: { command: 'a', disabledTools: ['${NONE}', 'x'] }, b: { command: 'b', disabledTools: ['y'] } };
    const { config, notices } = read('/p/.mcp.json', JSON.stringify({ mcpServers: servers }));
    expect(config).toEqual({
      mcpServers: { b: { command: 'b' } },
      policy: { rules: [{ tool: 'b.y', action: 'deny' }] },
    });
    expect(notices).toEqual([expect.stringContaining('a is left out')]);
  });

  it('loses no server whose name becomes that of another, or is special', () => {
    const text = `{ "mcpServers": { "a b": { "command": "one" }, "a/b": { "command": "two" },
      "a-b": { "command": "three" }, "__proto__": { "command": "four" } } }`;
    const { config } = read('/p/.mcp.json', text);
    const commands = Object.entries(config.mcpServers ?? {}).map(([name, { command }]) => [name, command]);
    expect(new Map(commands as [string, string][])).toEqual(
      new Map([
        ['a-b', 'three'],
        ['a-b-2', 'one'],
        ['a-b-3', 'two'],
        ['proto', 'four'],
      ]),
    );
  });

  it('takes a file in the own format for one, whatever its name', () => {
    expect(() => read('/p/mcp.json', '{"mcpServers": {}, "policy": {}, "x": 1}')).toThrow('x: unknown key');
  });
});
