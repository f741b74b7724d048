/**
 * FNV-1a with 32 bits over the UTF-16 code units of a text (http://www.isthe.com/chongo/tech/comp/fnv): a number from 0 to
 * 2^32-1 that is the same at each start.
 */
export function fnv1a(text: string): number {
    let hash = 0x811c_9dc5;
    for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193);
    return hash >>> 0;
}
