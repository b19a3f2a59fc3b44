// Builds the command line that runs an MCP server in a container, with the container's stdin and stdout.

import { randomBytes } from 'node:crypto';
import { ToolError } from '../../contract/errors.js';
import { assertOptions, shownValue, type OptionNames } from '../../contract/options.js';

/** A directory of the host in a container. */
export interface ContainerMount {
  /** The directory of the host; absolute. */
  source: string;
  /** Where the container sees it; absolute. */
  target: string;
  /** Mounts it read-only. Default: true. */
  readOnly?: boolean;
}

/** The container of a server. */
export interface ContainerOptions {
  /** The image, as the engine expects it. */
  image: string;
  /** The program that runs containers: `docker`, `podman` or the path of one. Default `docker`. */
  engine?: string;
  /** The arguments of the image's entry point. Default: none. */
  args?: readonly string[];
  /** Directories of the host that are mounted. Default: none. */
  mounts?: readonly ContainerMount[];
  /** The network of the container, for example `none`. Default: the engine's. */
  network?: string;
}

const OPTIONS: OptionNames<ContainerOptions> = {
  image: true,
  engine: true,
  args: 'array',
  mounts: 'array',
  network: true,
};
const MOUNT_OPTIONS: OptionNames<ContainerMount> = { source: 'text', target: 'text', readOnly: 'boolean' };

/** A command with its arguments, and the arguments that remove the container if it outlives the command. */
export interface ContainerCommand {
  /** The program that runs containers. */
  command: string;
  /** Its arguments, to run the container. */
  args: readonly string[];
  /** Its arguments, to remove the container. */
  remove: readonly string[];
}

/**
 * Builds the command line. It contains only the names of the variables in `env`; the values are passed through the engine's
 * environment.
 *
 * @throws {ToolError} INVALID_ARGUMENT for a value that the engine would parse as an option
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
  for (const [index, mount] of mounts.entries()) {
    const at = `container.mounts[${index}]`;
    assertOptions('new MCPToolProvider()', mount, MOUNT_OPTIONS, `${at}.`);
    for (const name of ['source', 'target'] as const) {
      const path = mount[name] as string | undefined;
      if (path === undefined || /[,"\n]/.test(path) || (!path.startsWith('/') && !/^[A-Za-z]:[\\/]/.test(path))) {
        throw new ToolError(
          'INVALID_ARGUMENT',
          `${at}.${name} must be an absolute path without commas, quotes or line breaks, not ${shownValue(path)}.`,
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
      '--init', // reaps children, and forwards SIGTERM
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
    `${what} must be a name without white space or a leading dash, not ${JSON.stringify(value)}.`,
  );
}
