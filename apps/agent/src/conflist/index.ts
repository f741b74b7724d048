export { Conflist, ConflistError, conflistText, networkNameOf, type ConflistOptions } from "./conflist.ts";
