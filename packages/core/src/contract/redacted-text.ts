// Redacts secrets in a text: what has the shape of one, and what is assigned to the name of one. All patterns take linear
// time: they are applied to what foreign servers send.

export const HIDDEN = '[hidden]';

/** Formats of credentials, as their issuers document them. */
const SHAPES: readonly RegExp[] = [
  /-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----|$)/g,
  /\beyJ[\w-]{8,1000}\.[\w-]{8,}\.[\w-]*/g, // JWT: RFC 7519
  /(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|gl[a-z]{2,5}-[\w-]{20,})/g, // GitHub, GitLab
  /(?<![A-Za-z0-9])(?:sk|pk|rk)(?:-|_(?:live|test)_)[\w-]{16,}/g, // OpenAI, Anthropic, Stripe
  /(?<![A-Za-z0-9])(?:gsk_|xai-|whsec_|dop_v1_|shp(?:at|ca|pa|ss)_|hvs\.)[\w-]{16,}/g, // Groq, xAI, Stripe, DigitalOcean, Shopify, Vault
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g, // AWS
  /\bAIza[\w-]{35}|\bya29\.[\w-]{20,}/g, // Google
  /\bxox[a-z]-[\w-]{10,}|\bxapp-[\w-]{10,}/g, // Slack
  /(?<=\bhooks\.slack\.com\/(?:services|workflows)\/|\bdiscord(?:app)?\.com\/api\/webhooks\/)[\w/-]{16,}/g,
  /\b\d{8,10}:[\w-]{35}\b/g, // Telegram
  /(?<=\blogin\s{1,3}\S{1,100}\s{1,3}password\s{1,3})\S{3,}/g, // netrc
  /(?<=\bDigest\s{1,3})\w{1,20}=[^\r\n]+/gi, // RFC 7616
  /(?<=[?&][\w-]{0,20}sig(?:nature)?=)[^&\s"'<>\\]{8,}/gi, // signed URLs of AWS, Azure and Google
  /\b(?:npm_[A-Za-z0-9]{30,}|hf_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|SG\.[\w-]{16,}\.[\w-]{16,})/g, // npm, Hugging Face, PyPI, SendGrid
];
const SCHEME = /\b(Bearer|Basic|Token)(\s+)([\w.~+/-]{8,}=*)/gi;
/** The password of a URL, RFC 3986, section 3.2.1, also with an unescaped `@` or `/`; not a port. */
const URL_PASSWORD = /\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s:@/"]{0,200}:)(?!\d{1,5}(?:[/,?#]|$))[^\s"<>]{1,500}(?=@)/gi;
/** A long user without a password. */
const URL_TOKEN = /(?<=\b[a-z][a-z0-9+.-]{1,20}:\/\/)[\w.~%+-]{20,500}(?=@)/gi;
/** Headers whose whole value is a secret, as far as the line or the quotes go. */
const HEADER =
  /\b((?:proxy-)?authorization|(?:set-)?cookie)(\\*["']?\s{0,3}[:=]\s{0,3}\\*["']?)(?=[^\s"'\\])[^\r\n"'\\]{4,}/gi;
/** The user and the password of `curl -u` and its like; two numbers are a user and a group. */
const USER_OPTION = /(\s(?:-u|--user)[\s=]["']?[^\s:"']{1,100}:)(?!\d+(?:\s|$))[^\s"']{3,500}/g;
/** `password=…`, `"token": "…"`, `--api-key …`, `<secret>…`: up to the value, with its opening quote. A `PWD` may be a directory. */
const ASSIGNMENT =
  /(?:password|passwd|passphrase|pwd(?!\W{0,6}\/)|secret|token|(?:api|access|account|private|secret)[_-]?key)(?:\\*["'])?(?:\s{0,3}(?:=>|:=|[:=])\s{0,3}|(?<=--[\w-]{3,50})\s{1,3}|(?<=<[\w:.-]{3,60})>)(?:(\\*)(["'`]))?/gi;
/** The value without what follows it in JSON or a list. */
const BARE_VALUE = /[^\s"'`&;<\\]{3,}[^\s"'`&;<\\,)}\]]/y;

/** Redacts what looks like a secret in a text. */
export function redactedText(text: string): string {
  let clean = text;
  for (const shape of SHAPES) clean = clean.replace(shape, HIDDEN);
  clean = clean
    .replace(HEADER, `$1$2${HIDDEN}`)
    .replace(SCHEME, (whole, scheme: string, gap: string, value: string) =>
      // "Basic arithmetic" is prose.
      scheme.toLowerCase() !== 'bearer' && /^[a-z]+$/.test(value) ? whole : `${scheme}${gap}${HIDDEN}`,
    )
    .replace(URL_PASSWORD, `$1${HIDDEN}`)
    .replace(URL_TOKEN, HIDDEN)
    .replace(USER_OPTION, `$1${HIDDEN}`);
  return withoutAssigned(clean);
}

/** Redacts the values of {@link ASSIGNMENT}. Quotes may be escaped: the text may be JSON, or JSON within JSON. */
function withoutAssigned(text: string): string {
  let clean = '';
  let done = 0;
  ASSIGNMENT.lastIndex = 0;
  for (let found = ASSIGNMENT.exec(text); found; found = ASSIGNMENT.exec(text)) {
    const [, escapes = '', quote] = found;
    const start = ASSIGNMENT.lastIndex - (quote === undefined ? 0 : escapes.length + 1);
    const end = quote === undefined ? endOfBare(text, start) : endOfQuoted(text, start, quote, escapes.length);
    if (end === start) continue;
    clean += text.slice(done, start) + HIDDEN;
    ASSIGNMENT.lastIndex = done = end;
  }
  return clean + text.slice(done);
}

function endOfBare(text: string, start: number): number {
  BARE_VALUE.lastIndex = start;
  return BARE_VALUE.test(text) ? BARE_VALUE.lastIndex : start;
}

/**
 * The end of a quoted value: after a quote that no more backslashes escape than the opening one, or the end of the line. The
 * start if the quotes are empty.
 */
function endOfQuoted(text: string, start: number, quote: string, escapes: number): number {
  const first = start + escapes + 1;
  let backslashes = 0;
  for (let at = first; at < text.length; at++) {
    const character = text[at];
    if (character === '\n') return at;
    if (character === quote && backslashes <= escapes) return at - backslashes === first ? start : at + 1;
    backslashes = character === '\\' ? backslashes + 1 : 0;
  }
  return text.length;
}
