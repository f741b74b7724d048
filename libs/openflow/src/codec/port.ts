/**
 * Reserved port numbers (OFPP_*): OpenFlow 1.5 section 7.2.1.2. `IN_PORT` is the ingress port of the packet, to which
 * an output by number sends nothing; `LOCAL` the port of the bridge itself; `NORMAL` forwards as a learning switch;
 * `ANY` is any port, in filters.
 */
export const Port = {
    IN_PORT: 0xfffffff8,
    TABLE: 0xfffffff9,
    NORMAL: 0xfffffffa,
    FLOOD: 0xfffffffb,
    ALL: 0xfffffffc,
    CONTROLLER: 0xfffffffd,
    LOCAL: 0xfffffffe,
    ANY: 0xffffffff,
} as const;

/** All tables, in requests and in flow mods other than `add`: OFPTT_ALL. */
export const allTables = 0xff;
/** Any group, in filters: OFPG_ANY. */
export const anyGroup = 0xffffffff;
/** All groups, in deletions and requests: OFPG_ALL. */
export const allGroups = 0xfffffffc;
/** All meters, in deletions and requests: OFPM_ALL. */
export const allMeters = 0xffffffff;
