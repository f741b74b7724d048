import { messageOf } from "@antrea/errors";
import { visit, type Document } from "yaml";

/** The value of a YAML document, or why it has none. */
export type DocumentValue =
    | { readonly isUsable: true; readonly value: unknown }
    /** `offset`: position in the text in characters. */
    | { readonly isUsable: false; readonly reason: string; readonly offset?: number };

/**
 * Returns the value of a parsed YAML document, null if it is empty. It is not usable if the text is invalid, if an
 * alias refers to nothing or to a node that contains it (YAML 1.2.2, section 7.1), or if aliases make it too large.
 */
export function documentValue(document: Document): DocumentValue {
    const [error] = document.errors;
    if (error !== undefined) return { isUsable: false, reason: error.message, offset: error.pos[0] };
    const endless = aliasWithin(document);
    if (endless !== undefined) return endless;
    try {
        return { isUsable: true, value: document.toJS() as unknown };
    } catch (cause) {
        return { isUsable: false, reason: messageOf(cause) };
    }
}

function aliasWithin(document: Document): DocumentValue | undefined {
    let found: DocumentValue | undefined;
    visit(document, {
        Alias: (_, node, parents) => {
            const target = node.resolve(document);
            if (target === undefined || !parents.includes(target)) return undefined;
            const reason = `*${node.source} stands inside &${node.source}, so its value would have no end; write the value out`;
            found = { isUsable: false, reason, ...(node.range && { offset: node.range[0] }) };
            return visit.BREAK;
        },
    });
    return found;
}
