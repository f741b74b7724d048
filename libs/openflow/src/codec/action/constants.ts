/** Action types (OFPAT_*): OpenFlow 1.5 section 7.2.6. */
export const ActionType = {
    OUTPUT: 0,
    PUSH_VLAN: 17,
    POP_VLAN: 18,
    SET_QUEUE: 21,
    GROUP: 22,
    DEC_NW_TTL: 24,
    SET_FIELD: 25,
    COPY_FIELD: 28,
    METER: 29,
    EXPERIMENTER: 0xffff,
} as const;

/** Experimenter id of Nicira, whose extensions are those of Open vSwitch. */
export const niciraVendor = 0x00002320;

/** Subtypes of Nicira's actions (NXAST_*, lib/ofp-actions.c of Open vSwitch), which ovs-actions(7) describes. */
export const NiciraAction = {
    RESUBMIT: 1,
    REG_MOVE: 6,
    NOTE: 8,
    RESUBMIT_TABLE: 14,
    OUTPUT_REG: 15,
    LEARN: 16,
    EXIT: 17,
    CONTROLLER: 20,
    CONJUNCTION: 34,
    CT: 35,
    NAT: 36,
    CONTROLLER2: 37,
    OUTPUT_TRUNC: 39,
    CLONE: 42,
    CT_CLEAR: 43,
    LEARN2: 45,
} as const;

/** A maximum length that means the whole packet, in actions that output to a controller (OFPCML_NO_BUFFER). */
export const wholePacket = 0xffff;
/** Table number that means the current table in `resubmit` and no table in `ct`. */
export const noTable = 0xff;
