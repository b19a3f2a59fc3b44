// Watches the body of an HTTP response while it is read: limits the size of messages, and reports its end.

import { ToolError } from '../../contract/errors.js';

/** Options of {@link watchedBody}. */
export interface BodyWatch {
  /** The limit of a message, in bytes: of one event in an event stream, else of the whole body. */
  maxMessageBytes: number;
  /**
   * Called once when the body has ended, broken off, or exceeded the limit.
   *
   * @param resumable whether the stream had event ids, so that it can be resumed
   */
  onEnd: (failure: ToolError | undefined, resumable: boolean) => void;
  /** Receives a function that cancels the body, which is not a failure. */
  onBegin?: (cancel: () => void) => void;
}

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Returns the response with a watched body; a response without a body is returned unchanged. */
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
  onBegin?.(() => void reader.cancel().catch(() => undefined)); // it may have ended already
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
          const message = `A message was larger than ${maxMessageBytes} bytes; request less, or raise maxFrameBytes.`;
          throw new ToolError('FRAME_TOO_LARGE', message);
        }
        controller.enqueue(value);
      } catch (thrown) {
        reader.cancel().catch(() => undefined); // it is abandoned
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

/** Counts the bytes of the current event, and notes whether events have ids. */
class EventMeter {
  sawId = false;
  #bytes = 0;
  /** The first bytes of the current line. */
  #line = '';
  /** True when the previous chunk ended in CR: an LF at the start of the next belongs to it. */
  #endsInCarriage = false;

  /** Reads a chunk. Returns the size of the largest event in it, with incomplete events counted so far. */
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
