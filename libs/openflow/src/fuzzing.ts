/** Internals that read received bytes, for tools/fuzz only. */
export { Link } from "./connection/link.ts";
