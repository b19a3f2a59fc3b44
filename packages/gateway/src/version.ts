// The version, for the handshake too.

/** The version that the three packages share. */
export const VERSION = '0.2.0';
