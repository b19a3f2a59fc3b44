// The elements of a JSON array one by one, from a text that comes in pieces: a file of memories may be larger than a
// string can be. Only where an element begins and ends is found here; JSON.parse reads it.

/** A longer element is given as `undefined`: nothing that is kept is as long. */
const MAX_ELEMENT_CHARS = 4 * 1024 * 1024;

/**
 * Yields the text of each element of the array that the text is, or that an object at the root has under `key`.
 *
 * @throws {SyntaxError} when the text ends before the array does, or holds no such array
 */
export async function* jsonElements(
  chunks: AsyncIterable<string>,
  key: string,
): AsyncGenerator<string | undefined, void> {
  /** How many brackets are open. */
  let depth = 0;
  /** The depth inside of the array; 0 before it began. */
  let inside = 0;
  let inString = false;
  let escaped = false;
  let element = '';
  let tooLong = false;
  /** The last string outside of the array: a key, perhaps. */
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
  if (!isDone) throw new SyntaxError(inside === 0 ? `holds no array of ${key}` : 'ends in the middle of the array');
}
