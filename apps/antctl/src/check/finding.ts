/**
 * - `leak`: an address is allocated and no Pod uses it;
 * - `orphan`: an address is in use without an allocation, or allocated outside the ranges of its pool, or from a pool
 *   that does not exist;
 * - `duplicate`: an address has two users;
 * - `reservation`: an address is reserved without an owner that requests it.
 */
export type FindingKind = "leak" | "orphan" | "duplicate" | "reservation";

/** One inconsistency that `ipam check` reports; pool and Node are absent where it concerns none. */
export interface Finding {
    readonly kind: FindingKind;
    /** In canonical text (RFC 5952). */
    readonly address: string;
    readonly pool?: string;
    readonly node?: string;
    /** What is wrong, and how it is resolved. */
    readonly text: string;
    /** Equal for the same finding in two snapshots. */
    readonly key: string;
}

/**
 * Makes one finding. Its key has the kind, `rule` (an identifier of the violated rule, such as `no-pod`), the address
 * and `user`, which identifies whose it is in both snapshots; `text` is what is wrong and how it is resolved.
 */
export function finding(
    kind: FindingKind,
    rule: string,
    about: { readonly address: string; readonly pool?: string | undefined; readonly node?: string | undefined },
    user: string,
    text: string,
): Finding {
    const { address, pool, node } = about;
    return {
        kind,
        address,
        ...(pool === undefined ? {} : { pool }),
        ...(node === undefined ? {} : { node }),
        text,
        key: [kind, rule, address, user].join(" "),
    };
}
