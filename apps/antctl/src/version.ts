declare const ANTREA_VERSION: string | undefined;

/** The version that the build gave the binary (`ANTREA_VERSION`), such as `0.1.0`; `dev` when run from source. */
export const version: string = typeof ANTREA_VERSION === "undefined" ? "dev" : ANTREA_VERSION;
