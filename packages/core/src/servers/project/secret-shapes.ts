// Recognizes secrets by their shape: keys, tokens, passwords in URLs. For code that must not forward or store secrets.

/** A kind of secret. */
interface SecretShape {
  /** The kind of secret, for messages. */
  readonly kind: string;
  /** Global, with bounded repetition: it runs over untrusted text. */
  readonly pattern: RegExp;
}

const SHAPES: readonly SecretShape[] = [
  {
    kind: 'private key',
    pattern: /-----BEGIN [A-Z ]{0,40}PRIVATE KEY[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
  },
  {
    kind: 'password in a URL',
    pattern: /(?<=\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/@:]{0,200}:)[^\s/@]{1,500}(?=@)/gi,
  },
  {
    kind: 'access token',
    pattern:
      /\b(?:gh[pousr]_[A-Za-z0-9]{16,500}|github_pat_[A-Za-z0-9_]{0,500}|glpat-[A-Za-z0-9_-]{0,500}|xox[abeoprs]-[A-Za-z0-9-]{0,500}|[sr]k_live_[A-Za-z0-9]{0,500}|npm_[A-Za-z0-9]{30,500}|sk-[A-Za-z0-9_-]{20,500})/g,
  },
  { kind: 'cloud key', pattern: /\b(?:(?:AKIA|ASIA)[A-Z0-9]{12,100}|AIza[A-Za-z0-9_-]{30,200})/g },
  { kind: 'web token', pattern: /\beyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{0,4000}/g },
];

/** A name that suggests a secret, with a value that is neither a word nor a reference. */
const ASSIGNMENT: SecretShape = {
  kind: 'password or key',
  pattern:
    /(?<=(?:passw(?:or)?d|passphrase|secret|api[_-]?key|access[_-]?key|(?:access|auth|bearer|refresh)[_-]?token)["']?\s{0,3}[:=]\s{0,3}["'`]?)(?=[^\s"'`,;]{0,100}\d)(?=[^\s"'`,;]{0,100}[A-Za-z])(?!process\.|os\.|env[.:]|\$|<|\{|%)[^\s"'`,;<>{}()$]{8,500}/gi,
};

/** Whether a text contains the shape of a key or token. */
export function hasSecretShape(text: string): boolean {
  return SHAPES.some(({ pattern }) => text.search(pattern) >= 0);
}

/**
 * Replaces each secret in a text by `[redacted: KIND]`, and returns the kinds that were found. Also finds values with a
 * name that suggests a secret, as in `password = …`.
 */
export function redactSecrets(text: string): { text: string; kinds: string[] } {
  const kinds = new Set<string>();
  let redacted = text;
  for (const { kind, pattern } of [...SHAPES, ASSIGNMENT]) {
    redacted = redacted.replace(pattern, (found) => {
      if (found.startsWith('[redacted:')) return found;
      kinds.add(kind);
      return `[redacted: ${kind}]`;
    });
  }
  return { text: redacted, kinds: [...kinds] };
}
