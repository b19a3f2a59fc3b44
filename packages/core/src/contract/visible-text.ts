// Texts of foreign servers as a model or a person may see them: without invisible characters, which can carry instructions or
// change what is displayed.

/** ANSI escape sequences: ECMA-48, sections 5.4 and 8.3.89. */
const ESCAPE_SEQUENCE = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]{0,1000}(?:\u0007|\u001b\\)|[@-Z\\^_])/g;
/**
 * Controls but tab and newline, separators that are not spaces, lone surrogates, and all characters without a glyph:
 * zero-width, bidi, tags, variation selectors. A selector or a joiner of an emoji stays.
 */
const INVISIBLE =
  /(?!(?<=\p{Extended_Pictographic}|[0-9#*])\ufe0f)(?!(?<=\p{Extended_Pictographic}\ufe0f?)\u200d\p{Extended_Pictographic})(?![\n\t])[\p{Cc}\p{Cs}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\ufff9-\ufffb]/gu;

/** Removes ANSI escape sequences and invisible characters. */
export function visibleText(text: string): string {
  return text.replace(ESCAPE_SEQUENCE, '').replace(INVISIBLE, '');
}

/** Writes invisible characters as escapes, such as `\u{200b}`, for a person who compares texts. */
export function withVisibleEscapes(text: string): string {
  return text.replace(INVISIBLE, (hidden) => `\\u{${(hidden.codePointAt(0) ?? 0).toString(16)}}`);
}
