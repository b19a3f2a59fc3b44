// Commits: git's machine-readable format, and their form in results.

/** The format: fields terminated by NUL, in the order of {@link parseCommit}. */
export const COMMIT_FORMAT =
  '--format=tformat:%H%x00%P%x00%an%x00%ae%x00%aI%x00%cn%x00%ce%x00%cI%x00%D%x00%s%x00%b%x00';
import { objectSchema } from '../../../tool/object-schema.js';

/** The number of fields. */
export const COMMIT_FIELDS = 11;

const PERSON = objectSchema({ name: { type: 'string' }, email: { type: 'string' }, date: { type: 'string' } });

/** The schema of a commit in a result. */
export const COMMIT = objectSchema({
  oid: { type: 'string' },
  parents: { type: 'array', items: { type: 'string' } },
  author: PERSON,
  committer: PERSON,
  refs: { type: 'array', items: { type: 'string' }, description: 'Branches and tags at this commit.' },
  subject: { type: 'string' },
  body: { type: 'string' },
});

/** A name, an address and a time in ISO 8601. */
export interface Person {
  name: string;
  email: string;
  date: string;
}

/** A commit in a result. */
export interface Commit {
  oid: string;
  parents: string[];
  author: Person;
  committer: Person;
  refs: string[];
  subject: string;
  body: string;
}

/** Parses the fields of {@link COMMIT_FORMAT}. */
export function parseCommit(fields: readonly Buffer[]): Commit {
  const text = (index: number): string => fields[index]?.toString('utf8') ?? '';
  const words = (index: number, separator: string): string[] =>
    text(index)
      .split(separator)
      .filter((word) => word !== '');
  return {
    oid: text(0),
    parents: words(1, ' '),
    author: { name: text(2), email: text(3), date: text(4) },
    committer: { name: text(5), email: text(6), date: text(7) },
    refs: words(8, ', '),
    subject: text(9),
    body: text(10).trimEnd(),
  };
}
