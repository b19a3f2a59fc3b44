// What an operation of a document is: the parts of it that tools need, parsed and checked.

import type { JsonObject } from '../../contract/json.js';

/** The methods that become tools. TRACE does not: it returns the request, with its credentials. */
export const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'] as const;

/** An operation of an OpenAPI document, as functions for `include`, `exclude` and `auth` receive it. */
export interface OpenApiOperation {
  /** The HTTP method, in capitals. */
  readonly method: string;
  /** The path as the document has it, such as `/pets/{petId}`. */
  readonly path: string;
  /** The operation's id, as the document has it. Absent if it has none. */
  readonly operationId?: string;
  /** The operation's tags. */
  readonly tags: readonly string[];
  /** True if the document marks it as deprecated. */
  readonly deprecated: boolean;
}

/** A security scheme that an operation names. */
export interface OpenApiSecurityScheme {
  /** Its name in the document. */
  readonly name: string;
  /** Its type: `apiKey`, `http`, `oauth2`, `openIdConnect` or `mutualTLS`. */
  readonly type: string;
  /** With `http`: the scheme, such as `bearer` or `basic`. */
  readonly scheme?: string;
  /** With `apiKey`: where the key is sent. */
  readonly in?: string;
  /** With `apiKey`: the name of the header, query parameter or cookie. */
  readonly key?: string;
  /** The scopes that the operation needs. */
  readonly scopes: readonly string[];
}

/** Where a parameter is sent. */
export type ParameterPlace = 'path' | 'query' | 'header' | 'cookie';

/** One parameter of an operation. */
export interface ApiParameter {
  readonly name: string;
  readonly place: ParameterPlace;
  readonly required: boolean;
  readonly description: string | undefined;
  readonly schema: unknown;
  /** A parameter that is sent as JSON text. */
  readonly isJson: boolean;
  readonly style: string;
  readonly explode: boolean;
  readonly allowReserved: boolean;
}

/** How a request body is written. */
export type BodyFormat = 'json' | 'form' | 'multipart' | 'text' | 'binary';

/** The body of an operation's requests. */
export interface ApiBody {
  readonly required: boolean;
  readonly description: string | undefined;
  /** The media type that is sent. */
  readonly mediaType: string;
  readonly format: BodyFormat;
  readonly schema: unknown;
  /** How single properties of a form are written, by name. */
  readonly encodings: ReadonlyMap<string, JsonObject>;
}

/** A parsed operation. */
export interface ApiOperation extends OpenApiOperation {
  readonly summary: string | undefined;
  readonly description: string | undefined;
  readonly parameters: readonly ApiParameter[];
  readonly body: ApiBody | undefined;
  /** The media types of successful responses. */
  readonly accepts: readonly string[];
  /** The schema of successful responses, if all of them are JSON with one schema. */
  readonly output: unknown;
  readonly security: readonly OpenApiSecurityScheme[];
  /** What requests are sent to: the origin, and the path before the operation's own. */
  readonly base: URL;
}
