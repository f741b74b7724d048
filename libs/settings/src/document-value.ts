import { messageOf } from "@antrea/errors";
import { visit, type Document } from "yaml";

export type DocumentValue =
    | { readonly isUsable: true; readonly value: unknown }
    /** `offset`: where in the text, counted in characters. */
    | { readonly isUsable: false; readonly reason: string; readonly offset?: number };

/**
 * The value of a YAML document as parsed, null when it is empty. It has none when its text is wrong, when an alias stands
 * for nothing or inside its own value (YAML 1.2.2, section 7.1), or when aliases make it too large.
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
