export { Conflist, conflistText, networkNameOf, partsOf, type ConflistOptions } from "./conflist.ts";
