export { age } from "./age.ts";
export { amount } from "./amount.ts";
export { bar, percent, type Parts } from "./bar.ts";
export { formatReport, formats, type Format } from "./format.ts";
export { styleFor, type Style, type Terminal } from "./style.ts";
export { fields, list, table, type Column } from "./table.ts";
export { titled } from "./titled.ts";
export { count, fold, oneLine, someOf, widthOf } from "./text.ts";
