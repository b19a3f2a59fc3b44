// The bodies of forms: `application/x-www-form-urlencoded` and `multipart/form-data`.

import { randomBytes } from 'node:crypto';
import { isJsonObject, type JsonObject } from '../../contract/json.js';
import { fieldOf, textField } from '../document/api-document.js';
import { bareType, isJsonType } from '../operations/read-body.js';
import { encodeStrictly, textOf, writeInQuery } from './parameter-styles.js';

/** How single properties are written, by name, as the document says. */
export type Encodings = ReadonlyMap<string, JsonObject>;

/** A file of a multipart form. */
export interface FormFile {
  readonly bytes: Uint8Array;
  readonly filename: string;
  readonly contentType: string | undefined;
}

/** A form's property: a JSON value, or files. */
export type FormValue = { readonly value: unknown } | { readonly files: readonly FormFile[] };

/** Writes a form in the encoding of URLs. Objects are JSON unless the document names a style. */
export function writeUrlEncoded(form: ReadonlyMap<string, unknown>, encodings: Encodings): string {
  const pairs: string[] = [];
  for (const [name, value] of form) {
    const encoding = encodings.get(name);
    const style = textField(encoding, 'style');
    const hasStyle = style !== undefined || encoding?.explode !== undefined;
    const isJson = isDeclaredJson(encoding) || (isJsonObject(value) && !hasStyle);
    const written = writeInQuery(
      {
        name,
        style: style ?? 'form',
        explode: typeof encoding?.explode === 'boolean' ? encoding.explode : (style ?? 'form') === 'form',
        isJson: isJson && !hasStyle,
        allowReserved: false,
      },
      value,
      (text) => encodeStrictly(text).replaceAll('%20', '+'),
    );
    for (const pair of written) pairs.push(pair);
  }
  return pairs.join('&');
}

/** Writes a multipart form. Returns its bytes and its media type with the boundary. */
export function writeMultipart(
  form: ReadonlyMap<string, FormValue>,
  encodings: Encodings,
): { bytes: Buffer; mediaType: string } {
  const boundary = `toolwright-${randomBytes(18).toString('hex')}`;
  const chunks: Uint8Array[] = [];
  const add = (name: string, bytes: Uint8Array, filename?: string, contentType?: string): void => {
    const file = filename === undefined ? '' : `; filename="${quoted(filename)}"`;
    const type = contentType === undefined ? '' : `Content-Type: ${contentType}\r\n`;
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"${file}\r\n${type}\r\n`;
    chunks.push(Buffer.from(head), bytes, Buffer.from('\r\n'));
  };
  for (const [name, given] of form) {
    const encoding = encodings.get(name);
    const [declared] = (textField(encoding, 'contentType') ?? '').split(',');
    const declaredType = bareType(declared ?? '');
    if ('files' in given) {
      for (const { bytes, filename, contentType } of given.files)
        add(name, bytes, filename, contentType ?? declaredType ?? 'application/octet-stream');
      continue;
    }
    const { value } = given;
    const parts = Array.isArray(value) && !isDeclaredJson(encoding) ? (value as unknown[]) : [value];
    for (const part of parts) {
      const isText = typeof part !== 'object' || part === null;
      add(name, Buffer.from(textOf(part)), undefined, declaredType ?? (isText ? undefined : 'application/json'));
    }
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`));
  return { bytes: Buffer.concat(chunks), mediaType: `multipart/form-data; boundary=${boundary}` };
}

function isDeclaredJson(encoding: JsonObject | undefined): boolean {
  const type = fieldOf(encoding, 'contentType');
  return typeof type === 'string' && isJsonType(bareType(type) ?? '');
}

/** As browsers write names: https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data */
function quoted(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
}
