declare const ANTREA_VERSION: string | undefined;

/** The version of the bundle; `dev` when run from source. */
export const version: string = typeof ANTREA_VERSION === "undefined" ? "dev" : ANTREA_VERSION;
