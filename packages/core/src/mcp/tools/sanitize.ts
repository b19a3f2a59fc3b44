// Text that comes from a server and is shown in an error or a log: bounded, without control characters or secrets.

const DEFAULT_LENGTH = 2_000;
const SHORTEST_SECRET = 6;

/** What a terminal would obey (ANSI sequences, bidi and zero-width characters) is left out; the end is cut. */
export function plainWords(text: string, maxLength = DEFAULT_LENGTH): string {
  const plain = text
    .slice(0, 4 * maxLength)

    .replace(
      /\u001b\[[0-9;?]*[ -/]*[@-~]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g,
      '',
    )
    .trim();
  return plain.length > maxLength ? `${plain.slice(0, maxLength)}…` : plain;
}

/** The end of what a program wrote, in plain words. */
export function lastWords(text: string, maxLength = DEFAULT_LENGTH): string {
  return plainWords(text.length > maxLength ? `…${text.slice(-maxLength)}` : text, maxLength + 1);
}

/**
 * Hides values that were given in confidence, such as those of the environment, also as JSON and addresses write them.
 * Short ones are words of the language.
 */
export function withoutSecrets(text: string, secrets: Iterable<string>): string {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET) continue;
    forms.add(secret).add(JSON.stringify(secret).slice(1, -1));
    if (!/\p{Surrogate}/u.test(secret)) forms.add(encodeURIComponent(secret));
  }
  let clean = text;
  // The longest first: one may begin with another.
  for (const form of [...forms].sort((one, other) => other.length - one.length))
    clean = clean.replaceAll(form, '[hidden]');
  return clean;
}

/** The same for whatever JSON holds; what has no secret in it is given back as it is. */
export function withoutSecretsInside(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return withoutSecrets(value, secrets);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutSecretsInside(item, secrets));
  const clean = Object.entries(value).map(([key, item]) => [
    withoutSecrets(key, secrets),
    withoutSecretsInside(item, secrets),
  ]);
  return Object.fromEntries(clean);
}

/** What a header says in confidence: its value, and the parts of it, such as the token behind `Bearer`. */
export function secretsOfHeaders(headers: Readonly<Record<string, string>>): string[] {
  return Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]);
}
