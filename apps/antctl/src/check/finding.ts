/**
 * - `leak`: an address is held and no Pod uses it;
 * - `orphan`: an address is used that nobody holds, or held outside of what its pool is now;
 * - `duplicate`: an address has two users;
 * - `reservation`: an address is kept that nobody asks for.
 */
export type FindingKind = "leak" | "orphan" | "duplicate" | "reservation";

export interface Finding {
    readonly kind: FindingKind;
    readonly address: string;
    readonly pool?: string;
    readonly node?: string;
    /** What is wrong, and what becomes of it or what to do. */
    readonly text: string;
    /** The same in two looks when it is the same finding. */
    readonly key: string;
}

/** Makes findings of one kind. What a finding is of makes its key: the rule, the address, and the user of it. */
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
