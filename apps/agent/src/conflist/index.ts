export { Conflist, ConflistError, conflistText, networkNameOf, partsOf, type ConflistOptions } from "./conflist.ts";
