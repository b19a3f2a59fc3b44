// The format of a configuration file. The types of a configuration, its validation and the published JSON Schema come from here;
// the comment of each key is its description there.

import { z } from 'zod';

const milliseconds = z.number().positive();
const text = z.string().min(1);
const texts = z.record(z.string(), z.string());
const toolGlobs = z.array(text);

/** What providers of every kind may say. */
const shared = {
  /** True: it is not started. Default: false. */
  disabled: z.boolean().optional(),
  /** Globs over the names of its tools, such as `list_*`. Default: all tools. */
  allowedTools: toolGlobs.optional(),
  /** The deadline of a call that sets none. Default: 30,000. */
  callTimeoutMs: milliseconds.optional(),
  /** From its start to its list of tools. Default: 15,000. */
  startTimeoutMs: milliseconds.optional(),
  /** Time without a call after which it is stopped; the next call starts it. 0: never. Default: 300,000. */
  idleTtlMs: z.number().min(0).optional(),
  /** What the calls of a tool touch, by its bare name: "{path}" is the argument path. */
  claims: z.record(z.string(), z.union([text, z.array(text)])).optional(),
  /** True: tools that are new or have changed need approval. Default: false. Needs pins. */
  pinned: z.boolean().optional(),
  /** Whether its directives are accepted. Default: false for MCP servers. */
  trustDirectives: z.boolean().optional(),
  /** Whether its annotations are believed when a call may be repeated. Default: false for MCP servers. */
  trustAnnotations: z.boolean().optional(),
};

const runtime = z.union([
  text,
  z.strictObject({
    /** The program. */
    command: text,
    /** Its arguments. Default: none. */
    args: z.array(z.string()).optional(),
  }),
]);

const provider = z
  .strictObject({
    /** The provider file, relative to projectDir. */
    path: text.optional(),
    /** A program that is a provider itself, instead of path. */
    command: text.optional(),
    /** Arguments after the file or the command. Default: none. */
    args: z.array(z.string()).optional(),
    /** The program that runs the file. Default: by its extension. */
    runtime: runtime.optional(),
    /** The working directory, relative to projectDir. Default: projectDir. */
    cwd: text.optional(),
    /** Added to the safe part of the environment. Default: nothing. */
    env: texts.optional(),
    /** Strings for its initialize that appear in no environment. Default: none. */
    variables: texts.optional(),
    /** Passed to its initialize. Default: {}. */
    config: z.record(z.string(), z.json()).optional(),
    /** Whether it is reloaded when its files change. Default: false. */
    watch: z.boolean().optional(),
    /** What a change of parts of config requires; dotted paths. */
    changeAnalysis: z
      .strictObject({
        /** Paths whose change requires a new process. */
        restartTriggers: z.array(text).optional(),
        /** Paths whose change requires another initialize. */
        reinitTriggers: z.array(text).optional(),
      })
      .optional(),
    ...shared,
  })
  .refine(({ path, command }) => (path === undefined) !== (command === undefined), 'set either path or command');

const server = z
  .strictObject({
    /** The program of a server over stdio: absolute, or a name on the PATH. */
    command: text.optional(),
    /** The program's arguments. Default: none. */
    args: z.array(z.string()).optional(),
    /** The working directory, relative to projectDir. Default: projectDir. */
    cwd: text.optional(),
    /** Added to the safe part of the environment. Default: nothing. */
    env: texts.optional(),
    /** The endpoint of a server over HTTP. */
    url: text.optional(),
    /** Sent with each HTTP request. Default: none. */
    headers: texts.optional(),
    /** The unix socket or named pipe of a running server. */
    socket: text.optional(),
    /** A server in a container. */
    container: z
      .strictObject({
        /** The image, as the engine expects it. */
        image: text,
        /** The program that runs containers. Default: docker. */
        engine: text.optional(),
        /** Its arguments. Default: none. */
        args: z.array(z.string()).optional(),
        /** Directories of the host that are mounted. Default: none. */
        mounts: z
          .array(
            z.strictObject({
              /** The directory of the host. */
              source: text,
              /** Where the container sees it. */
              target: text,
              /** Mounts it read-only. Default: true. */
              readOnly: z.boolean().optional(),
            }),
          )
          .optional(),
        /** The container's network. Default: the engine's. */
        network: text.optional(),
      })
      .optional(),
    /** The revisions of MCP to speak: modern is 2026-07-28, legacy the earlier ones. Default: auto. */
    protocol: z.enum(['auto', 'legacy', 'modern']).optional(),
    ...shared,
  })
  .refine(
    ({ command, url, socket, container }) =>
      [command, url, socket, container].filter((place) => place !== undefined).length === 1,
    'set one of command, url, socket and container',
  );

const rule = z.strictObject({
  /** A glob over qualified names; bash means bash.*. */
  tool: text,
  /** What a claim must match. Default: every claim. */
  pattern: text.optional(),
  /** What the rule does. */
  action: z.enum(['allow', 'ask', 'deny']),
});

const policy = z.strictObject({
  /** For claims that no rule matches. Default: ask. */
  default: z.enum(['allow', 'ask', 'deny']).optional(),
  /** What calls may do, in any order: a matching deny decides, then ask, then allow. Default: none. */
  rules: z.array(rule).optional(),
  /** Whether the built-in tools that only read are allowed, after the rules. Default: true. */
  readOnlyBuiltins: z.boolean().optional(),
});

/** `true`, `false` or the options of a built-in server. */
const builtin = z.union([z.boolean(), z.record(z.string(), z.json())]);

const builtins = z.union([
  z.literal(false),
  z.strictObject({
    /** How much the built-in tools describe. Default: full. */
    profile: z.enum(['lean', 'full']).optional(),
    /** Files: true, false or options. */
    filesystem: builtin.optional(),
    /** Commands: true, false or options. */
    bash: builtin.optional(),
    /** The repository: true, false or options. */
    git: builtin.optional(),
    /** Memories: true, false or options. */
    memory: builtin.optional(),
    /** Language servers: true, false or options. */
    diagnostics: builtin.optional(),
    /** Tools that steer the engine: true, false or options. Default: false. */
    agent: builtin.optional(),
  }),
]);

/** The format of `toolwright.json`, `.jsonc` and `.yaml`. */
export const CONFIG_SCHEMA = z.strictObject({
  /** The address of this schema, for editors. */
  $schema: z.string().optional(),
  /** The version of this format. Default: 1. */
  version: z.literal(1, { error: 'this version of Toolwright reads version 1' }).optional(),
  /** The project, relative to the file. Default: the file's directory. */
  projectDir: text.optional(),
  /** Further directories that the built-in tools may use. Default: none. */
  extraRoots: z
    .array(
      z.union([
        text,
        z.strictObject({
          /** The directory, relative to projectDir. */
          path: text,
          /** Read only, or read and write. */
          mode: z.enum(['ro', 'rw']),
        }),
      ]),
    )
    .optional(),
  /** Whether what the project brings may run. Default: untrusted. */
  trust: z.enum(['untrusted', 'trusted']).optional(),
  /** The built-in servers; false: none. Default: all but agent. */
  builtins: builtins.optional(),
  /** Provider files, by name. Default: none. */
  providers: z.record(text, provider).optional(),
  /** MCP servers, by name. Default: none. */
  mcpServers: z.record(text, server).optional(),
  /** What calls may do. Default: ask, but for built-in tools that only read. */
  policy: policy.optional(),
  /** Where the approved tools of pinned providers are kept. Default: none. */
  pins: z
    .strictObject({
      /** Where approved definitions are kept, relative to projectDir. */
      file: text,
      /** What happens to the first list of a pinned provider. Default: trust. */
      firstUse: z.enum(['trust', 'quarantine']).optional(),
    })
    .optional(),
  /** The hub's limits. */
  limits: z
    .strictObject({
      /** How long connecting waits for providers. Default: 10,000. */
      connectTimeoutMs: milliseconds.optional(),
      /** The default deadline of a call. */
      callTimeoutMs: milliseconds.optional(),
      /** The longest that progress extends a default deadline to. Default: 600,000. */
      maxTotalTimeoutMs: milliseconds.optional(),
      /** The longest text of one result. Default: 262,144. */
      maxTextBytes: z.number().positive().optional(),
    })
    .optional(),
  /** How a program serves the hub; `loadHub` does not read it. */
  gateway: z
    .strictObject({
      /** How tools are named to clients. Default: alias. */
      naming: z.enum(['alias', 'qualified']).optional(),
      /** Also forward resources and prompts. Default: true. */
      forward: z.boolean().optional(),
      /** Serves Streamable HTTP. */
      http: z
        .strictObject({
          /** The TCP port. Default: a free one. */
          port: z.int().min(0).max(65_535).optional(),
          /** The address to listen on. Default: 127.0.0.1. */
          host: text.optional(),
          /** The path of the MCP endpoint. Default: /mcp. */
          path: text.optional(),
          /** Serves each request without a session. Default: false. */
          stateless: z.boolean().optional(),
          /** Further accepted values of Host. Default: none. */
          allowedHosts: z.array(text).optional(),
          /** Further origins whose pages may call. Default: none. */
          allowedOrigins: z.array(text).optional(),
        })
        .optional(),
      /** A unix socket to serve, relative to projectDir. */
      socket: text.optional(),
    })
    .optional(),
  /** Named variants of this configuration. Default: none. */
  profiles: z
    .record(
      text,
      z.strictObject({
        /** The providers and MCP servers that run. Default: all. */
        servers: z.array(text).optional(),
        /** In place of builtins. */
        builtins: builtins.optional(),
        /** Globs over qualified names of tools that are denied. Default: none. */
        exclude: z.array(text).optional(),
        /** In place of policy. */
        policy: policy.optional(),
      }),
    )
    .optional(),
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
