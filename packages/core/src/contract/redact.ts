// Redacts secrets in what is shown, recorded or traced: values of keys with a secret's name, and texts with a secret's shape.

const HIDDEN = '[hidden]';
const MAX_DEPTH = 64;

/** Words that name a secret, alone or as part of a key: `db_password`, `accessToken`, `X-Api-Key`. */
const SECRET_WORDS: ReadonlySet<string> = new Set([
  ...['password', 'passwd', 'passphrase', 'pwd', 'secret', 'secrets', 'token', 'authorization', 'credential'],
  ...['credentials', 'cookie', 'bearer', 'apikey'],
]);
/** Pairs of words that name a secret: `private key`, `api_key`. */
const SECRET_PAIRS: ReadonlySet<string> = new Set(['api key', 'private key', 'access key', 'signing key', 'auth key']);

/** Formats of credentials, as their issuers document them. */
const SHAPES: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|$)/g,
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, // JWT: RFC 7519
  /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{20,})/g, // GitHub, GitLab
  /\b(?:sk|pk|rk)(?:-|_(?:live|test)_)[\w-]{16,}/g, // OpenAI, Anthropic, Stripe
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, // AWS
  /\bAIza[\w-]{35}|\bya29\.[\w-]{20,}/g, // Google
  /\bxox[a-z]-[\w-]{10,}|\bxapp-[\w-]{10,}/g, // Slack
  /\b(?:npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|SG\.[\w-]{16,}\.[\w-]{16,})/g, // npm, Hugging Face, PyPI, SendGrid
];
const SCHEME = /\b(Bearer|Basic|Token)(\s+)[\w.~+/-]{8,}=*/gi;
/** The password of a URL: RFC 3986, section 3.2.1. */
const URL_PASSWORD = /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/]{0,200}:)[^\s@/]{1,500}(?=@)/gi;
/** `password=…`, `"token": "…"`, `--api-key …`. */
const ASSIGNMENT =
  /((?:\b|--?)[\w-]{0,40}(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key)["']?(?:\s{0,3}[:=]\s{0,3}|(?<=--[\w-]{3,50})\s{1,3}))(?:"[^"\n]{1,2000}"|'[^'\n]{1,2000}'|[^\s"',;&]{4,})/gi;

/** Redacts what looks like a secret in a text. */
export function redactedText(text: string): string {
  let clean = text;
  for (const shape of SHAPES) clean = clean.replace(shape, HIDDEN);
  return clean
    .replace(SCHEME, `$1$2${HIDDEN}`)
    .replace(URL_PASSWORD, `$1${HIDDEN}`)
    .replace(ASSIGNMENT, (whole, name: string) => (whole.includes(HIDDEN) ? whole : `${name}${HIDDEN}`));
}

/** A copy of a JSON value in which secrets are `"[hidden]"`: values of keys that name a secret, and texts that look like one. */
export function redacted<T>(value: T): T {
  return copyOf(value, 0) as T;
}

function copyOf(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactedText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > MAX_DEPTH) return HIDDEN;
  if (Array.isArray(value)) return value.map((item) => copyOf(item, depth + 1));
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const isHidden = isSecretName(key) && (typeof item === 'string' || (typeof item === 'object' && item !== null));
    const clean = isHidden ? HIDDEN : copyOf(item, depth + 1);
    Object.defineProperty(copy, redactedText(key), {
      value: clean,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return copy;
}

/** True for the name of a secret, such as `password`, `accessToken` or `X-Api-Key`. */
export function isSecretName(name: string): boolean {
  const words = name
    .slice(0, 200)
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return words.some(
    (word, at) => SECRET_WORDS.has(word) || (at > 0 && SECRET_PAIRS.has(`${words[at - 1] ?? ''} ${word}`)),
  );
}
