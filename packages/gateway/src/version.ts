// The version, as sent in `initialize`.

/** The version of the three packages. */
export const VERSION = '0.2.0';
