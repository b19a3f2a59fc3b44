// The command line that runs an MCP server in a container: its stdin and stdout are the container's.

import { randomBytes } from 'node:crypto';
import { ToolError } from '../../contract/errors.js';
import { assertOptions, type OptionNames } from '../../contract/options.js';

/** A server in a container. */
export interface ContainerOptions {
  /** The image, as the engine takes it. */
  image: string;
  /** The program that runs containers: `docker`, `podman` or the path of one. Default `docker`. */
  engine?: string;
  /** The arguments of the image's entry point. Default: none. */
  args?: readonly string[];
  /** What of the host the container sees; `readOnly` by default. */
  mounts?: readonly { source: string; target: string; readOnly?: boolean }[];
  /** The network that it joins, for example `none`. Default: the engine's. */
  network?: string;
}

const OPTIONS: OptionNames<ContainerOptions> = { image: true, engine: true, args: true, mounts: true, network: true };

/** A command with its arguments, and what removes the container should it outlive the command. */
export interface ContainerCommand {
  command: string;
  args: readonly string[];
  remove: readonly string[];
}

/**
 * Builds the command line. Values of `env` never stand in it: they are named there, and passed through the
 * environment of the engine.
 *
 * @throws {ToolError} INVALID_ARGUMENT for what the engine would take for an option
 */
export function containerCommand(
  options: ContainerOptions,
  env: Readonly<Record<string, string>> = {},
  name = `toolwright-${randomBytes(8).toString('hex')}`,
): ContainerCommand {
  assertOptions('new MCPToolProvider()', options, OPTIONS, 'container.');
  const { image, engine = 'docker', args = [], mounts = [], network } = options;
  refuseOption('container.image', image);
  refuseOption('container.engine', engine);
  if (network !== undefined) refuseOption('container.network', network);
  for (const { source, target } of mounts) {
    for (const path of [source, target]) {
      if (/[,"\n]/.test(path) || (!path.startsWith('/') && !/^[A-Za-z]:[\\/]/.test(path))) {
        throw new ToolError(
          'INVALID_ARGUMENT',
          `container.mounts: "${path}" must be an absolute path without comma, quote or line end.`,
        );
      }
    }
  }
  return {
    command: engine,
    args: [
      'run',
      '--rm',
      '--interactive',
      '--init', // reaps, and passes SIGTERM on to a server that does not care
      '--name',
      name,
      '--security-opt',
      'no-new-privileges',
      ...(network === undefined ? [] : ['--network', network]),
      ...mounts.flatMap(({ source, target, readOnly = true }) => [
        '--mount',
        `type=bind,source=${source},target=${target}${readOnly ? ',readonly' : ''}`,
      ]),
      ...Object.keys(env).flatMap((variable) => ['--env', variable]),
      image,
      ...args,
    ],
    remove: ['rm', '--force', name],
  };
}

function refuseOption(what: string, value: unknown): void {
  if (typeof value === 'string' && /^[^-\s][^\s]*$/.test(value)) return;
  throw new ToolError(
    'INVALID_ARGUMENT',
    `${what} must be a name without white space that begins with no dash, not ${JSON.stringify(value)}.`,
  );
}
