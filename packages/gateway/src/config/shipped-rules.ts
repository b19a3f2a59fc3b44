// The rules of a configuration's policy, and those that are shipped: the built-in tools that only read are allowed.

import type { Policy, PolicyRule } from '@toolwright/core';
import type { ToolwrightConfig } from './config-schema.js';

/** The built-in tools that change nothing, by name: their annotations do not decide. A test compares the two. */
export const READ_ONLY_BUILTINS: readonly string[] = [
  ...['read_file', 'read_many', 'read_media', 'list_directory', 'glob', 'grep', 'stat'].map(
    (name) => `filesystem.${name}`,
  ),
  ...['job_output', 'job_list'].map((name) => `bash.${name}`),
  ...['status', 'diff', 'log', 'show', 'blame', 'branch_list'].map((name) => `git.${name}`),
  ...['retrieve', 'list', 'get', 'history', 'stats', 'bank_fetch'].map((name) => `memory.${name}`),
  ...['diagnostics', 'check_errors', 'definition', 'references', 'implementation', 'hover', 'symbols', 'servers'].map(
    (name) => `diagnostics.${name}`,
  ),
];

/** The policy of a configuration: its rules, then the shipped ones for the servers that it runs. The default is to ask. */
export function policyOf({ policy = {}, builtins = {} }: ToolwrightConfig): Pick<Policy, 'rules' | 'default'> {
  const { default: fallback = 'ask', rules = [], readOnlyBuiltins = true } = policy;
  const own = rules.map(({ tool, pattern, action }) => ({ tool, action, ...(pattern !== undefined && { pattern }) }));
  const isOn = (tool: string): boolean =>
    builtins !== false && builtins[tool.slice(0, tool.indexOf('.')) as 'filesystem'] !== false;
  const shipped = readOnlyBuiltins ? READ_ONLY_BUILTINS.filter(isOn) : [];
  return { default: fallback, rules: [...own, ...shipped.map((tool): PolicyRule => ({ tool, action: 'allow' }))] };
}
