import { type Style } from "./style.ts";
import { list } from "./table.ts";

/** A section of a report, a bold title above a list; no section without items. */
export function titled(title: string, items: readonly string[], style: Style): readonly string[] {
    return items.length === 0 ? [] : [`${style.bold(title)}\n${list(items, style)}`];
}
