// Which names, such as keys of objects and headers, are those of secrets.

/** Words that name a secret, alone or as part of a key: `db_password`, `accessToken`, `X-Api-Key`. */
const SECRET_WORDS: ReadonlySet<string> = new Set([
  ...['password', 'passwords', 'passwd', 'passphrase', 'pwd', 'secret', 'secrets', 'token', 'authorization'],
  ...['credential', 'credentials', 'cookie', 'bearer', 'apikey'],
]);
/** Pairs of words that name a secret: `private key`, `api_key`. */
const SECRET_PAIRS: ReadonlySet<string> = new Set([
  ...['api key', 'private key', 'access key', 'account key', 'signing key', 'encryption key', 'auth key', 'ssh key'],
]);
/** How words end that are joined without a mark: `PGPASSWORD`, `clientsecret`, `authtoken`. */
const SECRET_ENDING =
  /(?:password|passwd|passphrase|secret|token|(?:api|access|account|auth|private|secret|signing)key)$/;

/** True for the name of a secret, such as `password`, `accessToken` or `X-Api-Key`. */
export function isSecretName(name: string): boolean {
  const words = name
    .slice(0, 200)
    .normalize('NFKC')
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) => word.replace(/\d{1,20}$/, ''));
  return words.some(
    (word, at) =>
      SECRET_WORDS.has(word) || SECRET_ENDING.test(word) || SECRET_PAIRS.has(`${words[at - 1] ?? ''} ${word}`),
  );
}
