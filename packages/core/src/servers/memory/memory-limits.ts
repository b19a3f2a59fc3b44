// How much one memory may hold, however it is stored.

/** Characters of a content. Longer knowledge belongs in a file, which a memory can refer to. */
export const MAX_CONTENT_CHARS = 32_000;
export const MAX_TAGS = 20;
export const MAX_TAG_CHARS = 100;
export const MAX_KEY_CHARS = 200;
export const MAX_PATH_CHARS = 1_000;
export const MAX_ID_CHARS = 200;
/** Memories in one result of `retrieve` or `get`. */
export const MAX_RESULTS = 50;
export const MAX_QUERY_CHARS = 200_000;
