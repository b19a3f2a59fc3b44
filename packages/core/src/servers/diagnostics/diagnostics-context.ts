// What the diagnostics tools share: their context, their claims, and the resolution of paths.

import { lstat } from 'node:fs/promises';
import type { PermissionClaim } from '../../contract/claims.js';
import { ToolError } from '../../contract/errors.js';
import type { OutputLimits } from '../project/output-budget.js';
import type { ProjectFiles } from '../project/project-files.js';
import type { LanguageServers } from './lsp/language-servers.js';

/** The context of one server, shared by its tools. */
export interface DiagnosticsContext {
  files: ProjectFiles;
  limits: OutputLimits;
  /** The time limit of definition, rename and similar requests, in milliseconds. */
  requestTimeoutMs: number;
  /** The language servers of the current connection. @throws {ToolError} NOT_CONNECTED before the start and after the stop */
  servers(): LanguageServers;
}

/** A requested path. */
export interface RequestedPath {
  /** The path as shown in results. */
  shown: string;
  /** The path with links resolved. */
  absolute: string;
  isDirectory: boolean;
}

/** `all` means the project itself. */
const EVERYTHING = 'all';

/** @throws {ToolError} NOT_FOUND, OUTSIDE_PROJECT, INVALID_ARGUMENT */
export async function requestedPath({ files }: DiagnosticsContext, path: string): Promise<RequestedPath> {
  const { realPath, absolute } = await files.resolve(path === EVERYTHING ? '.' : path, 'read');
  return { shown: realPath, absolute, isDirectory: (await lstat(absolute)).isDirectory() };
}

/** One claim for the requested path, and one for its real path if that differs. @throws {ToolError} OUTSIDE_PROJECT */
export async function claimPath(
  { files }: DiagnosticsContext,
  path: string,
  reason: string,
): Promise<PermissionClaim[]> {
  const requested = path === EVERYTHING ? '.' : path;
  const claim = (pattern: string): PermissionClaim => ({ pattern, match: 'glob', understood: true, reason });
  const { shown } = files.scope.parse(requested);
  try {
    const { realPath } = await files.resolve(requested, 'read');
    return realPath === shown ? [claim(shown)] : [claim(shown), claim(realPath)];
  } catch (error) {
    // Missing: the tool itself reports it, with similar names.
    if (ToolError.isInstance(error) && error.code === 'NOT_FOUND') return [claim(shown)];
    throw error;
  }
}
