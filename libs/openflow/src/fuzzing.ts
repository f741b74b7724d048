/** What of this library reads bytes of others, behind its exports: for tools/fuzz only. */
export { Link } from "./connection/link.ts";
