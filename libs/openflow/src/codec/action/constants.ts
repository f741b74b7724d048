/** OpenFlow 1.5 section 7.2.6: action types. */
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

/** Vendor id of Nicira's extensions, which are Open vSwitch's. */
export const niciraVendor = 0x00002320;

/** Subtypes of Nicira's actions: ovs-actions(7). */
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
    CT_CLEAR: 43,
    LEARN2: 45,
} as const;

/** "The whole packet" of a maximum length. */
export const wholePacket = 0xffff;
/** "This table" of `resubmit`, "no table" of `ct`. */
export const noTable = 0xff;
