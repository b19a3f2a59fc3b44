// The format of a configuration file. The types of a configuration, its validation and the published JSON Schema come from here.

import { z } from 'zod';

const milliseconds = z.number().positive();
const text = z.string().min(1);
const texts = z.record(z.string(), z.string());
const toolGlobs = z.array(text).describe('Globs over the names of its tools, such as "list_*". Default: all tools.');

/** What providers of every kind may say. */
const shared = {
  disabled: z.boolean().optional().describe('True: it is not started. Default: false.'),
  allowedTools: toolGlobs.optional(),
  callTimeoutMs: milliseconds.optional().describe('The deadline of a call that sets none. Default: 30,000.'),
  startTimeoutMs: milliseconds.optional().describe('From its start to its list of tools. Default: 15,000.'),
  idleTtlMs: z
    .number()
    .min(0)
    .optional()
    .describe('Time without a call after which it is stopped; the next call starts it. 0: never. Default: 300,000.'),
  claims: z
    .record(z.string(), z.union([text, z.array(text)]))
    .optional()
    .describe('What the calls of a tool touch, by its bare name: "{path}" is the argument path.'),
  pinned: z
    .boolean()
    .optional()
    .describe('True: tools that are new or have changed need approval. Default: false. Needs pins.'),
  trustDirectives: z
    .boolean()
    .optional()
    .describe('Whether its directives are accepted. Default: false for MCP servers.'),
  trustAnnotations: z
    .boolean()
    .optional()
    .describe('Whether its annotations are believed when a call may be repeated. Default: false for MCP servers.'),
};

const runtime = z.union([text, z.strictObject({ command: text, args: z.array(z.string()).optional() })]);

const provider = z
  .strictObject({
    path: text.optional().describe('The provider file, relative to projectDir.'),
    command: text.optional().describe('A program that is a provider itself, instead of path.'),
    args: z.array(z.string()).optional().describe('Arguments after the file or the command. Default: none.'),
    runtime: runtime.optional().describe('The program that runs the file. Default: by its extension.'),
    cwd: text.optional().describe('The working directory, relative to projectDir. Default: projectDir.'),
    env: texts.optional().describe('Added to the safe part of the environment. Default: nothing.'),
    variables: texts.optional().describe('Strings for its initialize that appear in no environment. Default: none.'),
    config: z.record(z.string(), z.json()).optional().describe('Passed to its initialize. Default: {}.'),
    watch: z.boolean().optional().describe('Whether it is reloaded when its files change. Default: false.'),
    changeAnalysis: z
      .strictObject({ restartTriggers: z.array(text).optional(), reinitTriggers: z.array(text).optional() })
      .optional()
      .describe('What a change of parts of config requires; dotted paths.'),
    ...shared,
  })
  .refine(({ path, command }) => (path === undefined) !== (command === undefined), 'set either path or command');

const server = z
  .strictObject({
    command: text.optional().describe('The program of a server over stdio: absolute, or a name on the PATH.'),
    args: z.array(z.string()).optional().describe("The program's arguments. Default: none."),
    cwd: text.optional().describe('The working directory, relative to projectDir. Default: projectDir.'),
    env: texts.optional().describe('Added to the safe part of the environment. Default: nothing.'),
    url: text.optional().describe('The endpoint of a server over HTTP.'),
    headers: texts.optional().describe('Sent with each HTTP request. Default: none.'),
    socket: text.optional().describe('The unix socket or named pipe of a running server.'),
    container: z
      .strictObject({
        image: text,
        engine: text.optional(),
        args: z.array(z.string()).optional(),
        mounts: z.array(z.strictObject({ source: text, target: text, readOnly: z.boolean().optional() })).optional(),
        network: text.optional(),
      })
      .optional()
      .describe('A server in a container.'),
    protocol: z
      .enum(['auto', 'legacy', 'modern'])
      .optional()
      .describe('The revisions of MCP to speak: modern is 2026-07-28, legacy the earlier ones. Default: auto.'),
    ...shared,
  })
  .refine(
    ({ command, url, socket, container }) =>
      [command, url, socket, container].filter((place) => place !== undefined).length === 1,
    'set one of command, url, socket and container',
  );

const rule = z.strictObject({
  tool: text.describe('A glob over qualified names; bash means bash.*.'),
  pattern: text.optional().describe('What a claim must match. Default: every claim.'),
  action: z.enum(['allow', 'ask', 'deny']),
});

const policy = z.strictObject({
  default: z.enum(['allow', 'ask', 'deny']).optional().describe('For claims that no rule matches. Default: ask.'),
  rules: z.array(rule).optional().describe('Default: none.'),
  readOnlyBuiltins: z
    .boolean()
    .optional()
    .describe('Whether the built-in tools that only read are allowed, after the rules. Default: true.'),
});

/** `true`, `false` or the options of a built-in server. */
const builtin = z.union([z.boolean(), z.record(z.string(), z.json())]);

const builtins = z.union([
  z.literal(false),
  z.strictObject({
    profile: z.enum(['lean', 'full']).optional().describe('How much the built-in tools describe. Default: full.'),
    filesystem: builtin.optional(),
    bash: builtin.optional(),
    git: builtin.optional(),
    memory: builtin.optional(),
    diagnostics: builtin.optional(),
    agent: builtin.optional(),
  }),
]);

/** The format of `toolwright.json`, `.jsonc` and `.yaml`. */
export const CONFIG_SCHEMA = z.strictObject({
  $schema: z.string().optional(),
  version: z.literal(1, { error: 'this version of Toolwright reads version 1' }).optional().describe('Default: 1.'),
  projectDir: text.optional().describe("The project, relative to the file. Default: the file's directory."),
  extraRoots: z
    .array(z.union([text, z.strictObject({ path: text, mode: z.enum(['ro', 'rw']) })]))
    .optional()
    .describe('Further directories that the built-in tools may use. Default: none.'),
  trust: z
    .enum(['untrusted', 'trusted'])
    .optional()
    .describe('Whether what the project brings may run. Default: untrusted.'),
  builtins: builtins.optional().describe('The built-in servers; false: none. Default: all but agent.'),
  providers: z.record(text, provider).optional().describe('Provider files, by name. Default: none.'),
  mcpServers: z.record(text, server).optional().describe('MCP servers, by name. Default: none.'),
  policy: policy.optional(),
  pins: z
    .strictObject({
      file: text.describe('Where approved definitions are kept, relative to projectDir.'),
      firstUse: z.enum(['trust', 'quarantine']).optional().describe('Default: trust.'),
    })
    .optional()
    .describe('Where the approved tools of pinned providers are kept. Default: none.'),
  limits: z
    .strictObject({
      connectTimeoutMs: milliseconds.optional(),
      callTimeoutMs: milliseconds.optional(),
      maxTotalTimeoutMs: milliseconds.optional(),
      maxTextBytes: z.number().positive().optional(),
    })
    .optional(),
  gateway: z
    .strictObject({
      naming: z.enum(['alias', 'qualified']).optional().describe('Default: alias.'),
      forward: z.boolean().optional().describe('Also forward resources and prompts. Default: true.'),
      http: z
        .strictObject({
          port: z.int().min(0).max(65_535).optional(),
          host: text.optional(),
          path: text.optional(),
          stateless: z.boolean().optional(),
          allowedHosts: z.array(text).optional(),
          allowedOrigins: z.array(text).optional(),
        })
        .optional(),
      socket: text.optional().describe('Relative to projectDir.'),
    })
    .optional(),
  profiles: z
    .record(
      text,
      z.strictObject({
        servers: z.array(text).optional().describe('The providers and MCP servers that run. Default: all.'),
        builtins: builtins.optional().describe('In place of builtins.'),
        exclude: z
          .array(text)
          .optional()
          .describe('Globs over qualified names of tools that are denied. Default: none.'),
        policy: policy.optional().describe('In place of policy.'),
      }),
    )
    .optional()
    .describe('Named variants of this configuration. Default: none.'),
});

/** A validated configuration, as the file says it. */
export type ToolwrightConfig = z.infer<typeof CONFIG_SCHEMA>;
/** An entry of `providers`. */
export type ProviderConfig = z.infer<typeof provider>;
/** An entry of `mcpServers`. */
export type ServerConfig = z.infer<typeof server>;
/** The rules of a configuration. */
export type PolicyConfig = z.infer<typeof policy>;

/** The JSON Schema of the format, draft 2020-12. */
export function configJsonSchema(): object {
  return {
    title: 'Toolwright configuration',
    ...z.toJSONSchema(CONFIG_SCHEMA, { io: 'input', target: 'draft-2020-12' }),
  };
}
