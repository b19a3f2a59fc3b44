// What every tool of this server stands on, what it claims before it runs, and how a path is asked for.

import { lstat } from 'node:fs/promises';
import type { PermissionClaim } from '../../contract/claims.js';
import { ToolError } from '../../contract/errors.js';
import type { OutputLimits } from '../project/output-budget.js';
import type { ProjectFiles } from '../project/project-files.js';
import type { LanguageServers } from './lsp/language-servers.js';

/** Made once a server, shared by its tools. */
export interface DiagnosticsContext {
  files: ProjectFiles;
  limits: OutputLimits;
  /** How long definition, rename and their like may take, in milliseconds. */
  requestTimeoutMs: number;
  /** The servers of the connection that runs. @throws {ToolError} NOT_CONNECTED before the start and after the stop */
  servers(): LanguageServers;
}

/** A path that was asked for. */
export interface AskedPath {
  /** As results show it. */
  shown: string;
  /** Real. */
  absolute: string;
  isDirectory: boolean;
}

/** `all` is another word for the project itself. */
const EVERYTHING = 'all';

/** @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, INVALID_ARGUMENT */
export async function askedPath({ files }: DiagnosticsContext, path: string): Promise<AskedPath> {
  const { realPath, absolute } = await files.resolve(path === EVERYTHING ? '.' : path, 'read');
  return { shown: realPath, absolute, isDirectory: (await lstat(absolute)).isDirectory() };
}

/**
 * One claim for the path as it was asked for, and one for what it really is when that is another.
 *
 * @throws {ToolError} OUTSIDE_PROJECT
 */
export async function claimPath(
  { files }: DiagnosticsContext,
  path: string,
  reason: string,
): Promise<PermissionClaim[]> {
  const asked = path === EVERYTHING ? '.' : path;
  const claim = (pattern: string): PermissionClaim => ({ pattern, match: 'glob', understood: true, reason });
  const { shown } = files.scope.parse(asked);
  try {
    const { realPath } = await files.resolve(asked, 'read');
    return realPath === shown ? [claim(shown)] : [claim(shown), claim(realPath)];
  } catch (error) {
    // Nothing there: the tool says so itself, with the nearest names.
    if (ToolError.isInstance(error) && error.code === 'NOT_FOUND') return [claim(shown)];
    throw error;
  }
}
