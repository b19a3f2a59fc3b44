// Texts of strangers: made whole, cut between characters, shown so that nothing in them is obeyed.

/** With half surrogate pairs replaced; the methods of that name are not in every supported type library. */
export function wellFormed(text: string): string {
  return isWellFormed(text) ? text : text.replace(/\p{Surrogate}/gu, '\u{fffd}');
}

export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

/** The beginning of a text; a pair that is cut through is left out. */
export function cut(text: string, most: number): string {
  const end = text.slice(0, most);
  return /[\u{d800}-\u{dbff}]$/u.test(end) ? end.slice(0, -1) : end;
}

/** What most texts are: one line of ASCII, with nothing in it to be made safe. */
const PLAIN_LINE = /^[ -~]*$/;

/** A stranger's text as a quotation. */
export function quotation(text: string, most = Infinity): string {
  const shown = text.length > most ? `${cut(text, most)}...` : text;
  if (PLAIN_LINE.test(shown)) return `> ${shown}`;
  return shown
    .split(/\r\n|[\n\r\u{85}\u{2028}\u{2029}]/u)
    .map((line) => `> ${safeText(line)}`)
    .join('\n');
}

/** Without what a terminal or a reader would obey; joiners stay, as emoji and scripts are made of them. */
export function safeText(text: string): string {
  if (PLAIN_LINE.test(text)) return text; // found out in half of the time
  return text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\u{200b}\u{200e}\u{200f}\u{202a}-\u{202e}\u{2060}-\u{2069}\u{feff}\u{e0000}-\u{e007f}]/gu,
    (character) => (character === '\t' ? ' ' : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`),
  );
}
