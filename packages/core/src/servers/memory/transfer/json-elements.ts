// Splits a JSON array into its elements while it is read, as a file may be larger than the longest string. It only finds where
// elements start and end; JSON.parse reads them.

/** A longer element is yielded as `undefined`, as no memory is that long. */
const MAX_ELEMENT_CHARS = 4 * 1024 * 1024;

/**
 * Yields the text of each element of the root array, or of the array in the root object's property `key`.
 *
 * @throws {SyntaxError} when the text contains no such array, or ends within it
 */
export async function* jsonElements(
  chunks: AsyncIterable<string>,
  key: string,
): AsyncGenerator<string | undefined, void> {
  /** The number of open brackets. */
  let depth = 0;
  /** The depth inside the array; 0 before it starts. */
  let inside = 0;
  let inString = false;
  let escaped = false;
  let element = '';
  let tooLong = false;
  /** The last string outside the array, which may be a key. */
  let text = '';
  let lastKey = '';
  let isDone = false;
  for await (const chunk of chunks) {
    for (const character of chunk) {
      if (isDone) break;
      const isOutside = inside === 0;
      if (!isOutside && (inString || depth > inside || !/[\s,\]]/.test(character))) {
        if (element.length < MAX_ELEMENT_CHARS) element += character;
        else tooLong = true;
      }
      if (inString) {
        if (escaped) escaped = false;
        else if (character === '\\') escaped = true;
        else if (character === '"') inString = false;
        else if (isOutside && text.length < 100) text += character;
        continue;
      }
      switch (character) {
        case '"':
          inString = true;
          text = '';
          break;
        case ':':
          if (isOutside && depth === 1) lastKey = text;
          break;
        case '[':
        case '{':
          depth++;
          if (isOutside && character === '[' && (depth === 1 || (depth === 2 && lastKey === key))) inside = depth;
          break;
        case ']':
        case '}':
          if (!isOutside && depth === inside) {
            if (element !== '') yield tooLong ? undefined : element;
            isDone = true;
          }
          depth--;
          break;
        case ',':
          if (!isOutside && depth === inside) {
            yield tooLong ? undefined : element;
            element = '';
            tooLong = false;
          }
      }
    }
  }
  if (!isDone) throw new SyntaxError(inside === 0 ? `contains no array of ${key}` : 'ends in the middle of the array');
}
