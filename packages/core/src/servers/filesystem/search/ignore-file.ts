// One ignore file's rules, read as ripgrep reads them. Not the `ignore` package: it makes regular expressions of the
// lines, and a line of a hostile repository could block the process for hours; here time is bounded by rule times path.

import { ToolError } from '../../../contract/errors.js';
import { compileIgnoreGlob, type PathMatcher } from './glob-pattern.js';
import { orderKey } from './path-order.js';

interface Rule {
  matches: PathMatcher;
  /** `!`: what it matches is not ignored. */
  isNegated: boolean;
  /** `name/`: it does not apply to files. */
  onlyDirectories: boolean;
}

/** The rules of one file, or of a list of globs. */
export class IgnoreFile {
  readonly #rules: Rule[] = [];
  /** True when a rule has no `!`. */
  readonly hasPlain: boolean;

  private constructor(rules: Rule[]) {
    this.#rules = rules;
    this.hasPlain = rules.some((rule) => !rule.isNegated);
  }

  /**
   * Lines that are not patterns are ignored, as in git and ripgrep. Undefined when none remains.
   *
   * @param text one character per byte, as paths are matched: in git and ripgrep `?` matches a byte
   */
  static parse(text: string): IgnoreFile | undefined {
    const rules: Rule[] = [];
    for (const line of text.replace(/^\xef\xbb\xbf/, '').split('\n')) {
      try {
        const rule = parseRule(line);
        if (rule) rules.push(rule);
      } catch (error) {
        if (!ToolError.isInstance(error)) throw error;
      }
    }
    return rules.length === 0 ? undefined : new IgnoreFile(rules);
  }

  /** @throws {ToolError} INVALID_ARGUMENT for a glob that is not a pattern */
  static ofGlobs(globs: readonly string[]): IgnoreFile {
    return new IgnoreFile(globs.map((glob) => parseRule(orderKey(glob))).filter((rule) => rule !== undefined));
  }

  /** Whether it ignores an entry, by the last rule that matches; undefined when none does. `path` is from its directory, as {@link orderKey} has it. */
  test(path: string, isDirectory: boolean): boolean | undefined {
    for (let index = this.#rules.length - 1; index >= 0; index--) {
      const rule = this.#rules[index];
      if (rule && (isDirectory || !rule.onlyDirectories) && rule.matches(path)) return !rule.isNegated;
    }
    return undefined;
  }
}

/** https://docs.rs/ignore/latest/ignore/gitignore/struct.GitignoreBuilder.html#method.add_line, https://git-scm.com/docs/gitignore */
function parseRule(text: string): Rule | undefined {
  let line = text;
  if (line.startsWith('#')) return undefined;
  if (!line.endsWith('\\ ')) line = line.replace(/[\t-\r ]+$/, '');
  if (line === '') return undefined;
  const isNegated = line.startsWith('!');
  if (isNegated) line = line.slice(1);
  const isEscaped = !isNegated && /^\\[!#]/.test(line);
  if (isEscaped) line = line.slice(1);
  let isAnchored = line.startsWith('/');
  if (isAnchored) line = line.slice(1);
  const onlyDirectories = line.endsWith('/');
  if (onlyDirectories) line = line.slice(0, -1);
  isAnchored ||= line.includes('/');
  // A "#" or "!" that was escaped is a character like any other, as is what follows.
  return {
    matches: compileIgnoreGlob(isAnchored || line === '**' ? line : `**/${line}`),
    isNegated,
    onlyDirectories,
  };
}
