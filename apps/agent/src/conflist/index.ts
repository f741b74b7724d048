export { Conflist, ConflistError, conflistText, type ConflistOptions } from "./conflist.ts";
