// Sanitises a server's text for errors and logs: limits its length, removes control characters and secrets.

import { visibleText } from './visible-text.js';

const DEFAULT_LENGTH = 2_000;
const SHORTEST_SECRET = 6;

/** Removes ANSI escape sequences and invisible characters, and cuts the end. */
export function plainText(text: string, maxLength = DEFAULT_LENGTH): string {
  const plain = visibleText(text.slice(0, 4 * maxLength)).trim();
  return plain.length > maxLength ? `${plain.slice(0, maxLength)}…` : plain;
}

/** The end of a program's output, sanitised by {@link plainText}. */
export function lastText(text: string, maxLength = DEFAULT_LENGTH): string {
  return plainText(text.length > maxLength ? `…${text.slice(-maxLength)}` : text, maxLength + 1);
}

/**
 * Redacts secrets, such as values of the environment, also in their JSON and URL-encoded forms. Short values are not redacted, as
 * they may be ordinary words.
 */
export function withoutSecrets(text: string, secrets: Iterable<string>): string {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET) continue;
    forms.add(secret).add(JSON.stringify(secret).slice(1, -1));
    for (const encoded of urlForms(secret)) forms.add(encoded);
  }
  let clean = text;
  // The longest first, as one may be a prefix of another.
  for (const form of [...forms].sort((one, other) => other.length - one.length))
    clean = clean.replaceAll(form, '[hidden]');
  return clean;
}

/** The forms of a text in addresses and forms: few programs encode the same characters, or write digits in the same case. */
function urlForms(text: string): string[] {
  if (/\p{Surrogate}/u.test(text)) return [];
  const usual = encodeURIComponent(text);
  const strict = usual.replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  const asForm = new URLSearchParams({ '': text }).toString().slice(1);
  return [usual, strict, strict.replaceAll('%20', '+'), asForm].flatMap((form) => [
    form,
    form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
  ]);
}

/** Redacts secrets in all strings and numbers of a JSON value. */
export function withoutSecretsInside(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return withoutSecrets(value, secrets);
  if (typeof value === 'number') return isSecretNumber(value, secrets) ? '[hidden]' : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => withoutSecretsInside(item, secrets));
  const clean = Object.entries(value).map(([key, item]) => [
    withoutSecrets(key, secrets),
    withoutSecretsInside(item, secrets),
  ]);
  return Object.fromEntries(clean);
}

/** A long number was rounded when it was read. */
function isSecretNumber(value: number, secrets: readonly string[]): boolean {
  return secrets.some(
    (secret) => secret.length >= SHORTEST_SECRET && (String(value).includes(secret) || Number(secret) === value),
  );
}

/** Names of authentication schemes of six letters or more, which are ordinary words. */
const SCHEME = /^(bearer|digest|negotiate|api-?key|mutual|vapid|privatetoken|signature|scram-sha-\d+)$/i;

/** The secrets in headers: their values and the parts of them, such as the token after `Bearer`. */
export function secretsOfHeaders(headers: Readonly<Record<string, string>>): string[] {
  return Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/).filter((part) => !SCHEME.test(part))]);
}
