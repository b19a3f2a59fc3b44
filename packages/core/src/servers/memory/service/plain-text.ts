// Untrusted text: made well-formed, cut between characters, and shown so that neither a terminal nor a reader obeys it.

/** The text with lone surrogates replaced. `String.prototype.toWellFormed` is missing in the oldest supported type library. */
export function wellFormed(text: string): string {
  return isWellFormed(text) ? text : text.replace(/\p{Surrogate}/gu, '\u{fffd}');
}

export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** The beginning of a text; a surrogate pair is never split. */
export function cut(text: string, maxChars: number): string {
  const end = text.slice(0, maxChars);
  return /[\u{d800}-\u{dbff}]$/u.test(end) ? end.slice(0, -1) : end;
}

/** One line of printable ASCII, as most texts are: it needs no escaping. */
const PLAIN_LINE = /^[ -~]*$/;

/** Untrusted text as a quotation. */
export function quotation(text: string, maxChars = Infinity): string {
  const shown = text.length > maxChars ? `${cut(text, maxChars)}...` : text;
  if (PLAIN_LINE.test(shown)) return `> ${shown}`;
  return shown
    .split(/\r\n|[\n\r\u{85}\u{2028}\u{2029}]/u)
    .map((line) => `> ${safeText(line)}`)
    .join('\n');
}

/** Escapes characters that a terminal or a reader would obey. Joiners stay: emoji and some scripts need them. */
export function safeText(text: string): string {
  if (PLAIN_LINE.test(text)) return text; // this test takes half the time
  return text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\u{200b}\u{200e}\u{200f}\u{202a}-\u{202e}\u{2060}-\u{2069}\u{feff}\u{e0000}-\u{e007f}]/gu,
    (character) => (character === '\t' ? ' ' : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`),
  );
}
