/** A reason why the Pod does not get its addresses, and the remedy: sentences without capital and full stop. */
export interface Block {
    readonly what: string;
    readonly next: string;
}

const separator = "; next: ";

/** The message of an error about a network, which ends with its next step; `next` is for one that has none. */
export function blockOf(message: string, next: string): Block {
    const at = message.lastIndexOf(separator);
    if (at < 0) return { what: message, next };
    return { what: message.slice(0, at), next: message.slice(at + separator.length) };
}
