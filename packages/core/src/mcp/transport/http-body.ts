// The body of an HTTP answer, watched while it is read: no message in it may be too large, and its end is told.

import { ToolError } from '../../contract/errors.js';

/** What {@link watchedBody} looks for. */
export interface BodyWatch {
  /** The largest message: of an event stream one event, else the whole body. */
  maxMessageBytes: number;
  /**
   * Told once when the body is at its end, has broken off, or was too large.
   *
   * @param resumable the stream carried event ids, so that it can be taken up again
   */
  onEnd: (failure: ToolError | undefined, resumable: boolean) => void;
  /** Given what ends the body before its end, which is no failure. */
  onBegin?: (cancel: () => void) => void;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** The same response, with a body that is watched. One without a body is given back as it is. */
export function watchedBody(response: Response, { maxMessageBytes, onEnd, onBegin }: BodyWatch): Response {
  if (!response.body) return response;
  const isEvents = (response.headers.get('content-type') ?? '').toLowerCase().includes('text/event-stream');
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  const meter = new EventMeter();
  let bytes = 0;
  let ended = false;
  const end = (failure?: ToolError): void => {
    if (ended) return;
    ended = true;
    onEnd(failure, meter.sawId);
  };
  onBegin?.(() => void reader.cancel().catch(() => undefined)); // it may have ended
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          controller.close();
          return end();
        }
        bytes = isEvents ? meter.read(value) : bytes + value.length;
        if (bytes > maxMessageBytes) {
          const words = `A message was larger than ${maxMessageBytes} bytes; ask for less at once, or raise maxFrameBytes.`;
          throw new ToolError('FRAME_TOO_LARGE', words);
        }
        controller.enqueue(value);
      } catch (thrown) {
        reader.cancel().catch(() => undefined); // it is given up
        controller.error(thrown);
        end(ToolError.isInstance(thrown) ? ToolError.from(thrown) : undefined);
      }
    },
    cancel(reason) {
      end();
      return reader.cancel(reason);
    },
  });
  const { status, statusText, headers, url } = response;
  return Object.defineProperty(new Response(body, { status, statusText, headers }), 'url', { value: url });
}

/** Counts the bytes of the event that is being read, and sees whether events have ids. */
class EventMeter {
  sawId = false;
  #bytes = 0;
  /** The first bytes of the line that is being read. */
  #line = '';
  /** The chunk before ended in CR: an LF that begins the next one belongs to it. */
  #endsInCarriage = false;

  /** The bytes of the largest event that was, or is being, read in this chunk. */
  read(chunk: Uint8Array): number {
    let largest = 0;
    let start = this.#endsInCarriage && chunk[0] === LINE_FEED ? 1 : 0;
    if (chunk.length > 0) this.#endsInCarriage = chunk.at(-1) === CARRIAGE_RETURN;
    for (;;) {
      const end = nextLineEnd(chunk, start);
      const part = chunk.subarray(start, end < 0 ? chunk.length : end);
      this.#bytes += part.length + 1;
      if (this.#line.length < 3) this.#line += Buffer.from(part.subarray(0, 3)).toString('latin1');
      if (this.#line.startsWith('id:')) this.sawId = true;
      largest = Math.max(largest, this.#bytes);
      if (end < 0) return largest;
      if (this.#line === '') this.#bytes = 0; // an empty line ends the event
      this.#line = '';
      start = end + (chunk[end] === CARRIAGE_RETURN && chunk[end + 1] === LINE_FEED ? 2 : 1);
    }
  }
}

function nextLineEnd(chunk: Uint8Array, from: number): number {
  const feed = chunk.indexOf(LINE_FEED, from);
  const carriage = chunk.indexOf(CARRIAGE_RETURN, from);
  if (feed < 0) return carriage;
  return carriage < 0 ? feed : Math.min(feed, carriage);
}
