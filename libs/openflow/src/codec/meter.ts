/** A meter that drops what exceeds its rate: OpenFlow 1.5 section 5.11. */
export interface Meter {
    /** 1 to 0xffff0000. */
    readonly id: number;
    /** Of `rate` and `burst`: packets or kilobits, per second. */
    readonly unit: "packets" | "kilobits";
    readonly rate: number;
    /** How much more may come at once. Default: as much as `rate` has in a second. */
    readonly burst?: number;
}

/**
 * A change of a meter: OpenFlow 1.5 section 7.3.4.5. `add` is refused if the id is in use, `modify` if it is not;
 * `delete` also deletes the flows that use the meter, and changes nothing without one.
 */
export type MeterMod =
    | { readonly command: "add" | "modify"; readonly meter: Meter }
    /** `all` deletes every meter. */
    | { readonly command: "delete"; readonly meter: { readonly id: number | "all" } };
