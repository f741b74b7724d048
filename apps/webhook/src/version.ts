declare const ANTREA_VERSION: string | undefined;

/** The version of the bundle; `dev` if run from the sources. */
export const version: string = typeof ANTREA_VERSION === "undefined" ? "dev" : ANTREA_VERSION;
