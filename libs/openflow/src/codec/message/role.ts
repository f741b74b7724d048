import { type Reader } from "../wire/reader.ts";

/** OpenFlow 1.5 section 7.3.8: roles in their order on the wire. */
const roles = ["no_change", "equal", "primary", "secondary"] as const;
/** Role of a controller connection (OpenFlow 1.5 section 7.3.8): `no_change`, `equal`, `primary` or `secondary`. */
export type Role = (typeof roles)[number];

/**
 * Body of a role request or reply (OpenFlow 1.5 section 7.3.8): `shortId` is the controller's id, `generation` the
 * generation_id of an election.
 */
export interface RoleMessage {
    readonly role: Role;
    readonly shortId: number;
    readonly generation: bigint;
}

/** Reads the body of a role request or reply. Throws `OpenFlowError` `SHORT` or `MALFORMED`. */
export function readRole(reader: Reader): RoleMessage {
    const code = reader.u32();
    const role = roles[code] ?? reader.fail(`unknown role ${code}`);
    const shortId = reader.u16();
    reader.skip(2);
    return { role, shortId, generation: reader.u64() };
}
