/** A CNI IPAM plugin under test with its environment. The harness uses nothing else. */
export interface IpamSubject extends AsyncDisposable {
    /** Part of the result ids. */
    readonly id: string;
    readonly title: string;
    /** The binary that is run for each call. */
    readonly program: string;
    /** Variables besides those of the protocol. */
    readonly environment: NodeJS.ProcessEnv;
    /** The network configuration on standard input. */
    readonly config: Readonly<Record<string, unknown>>;
    /** Number of addresses in its pool. */
    readonly capacity: number;
    /** The network namespace of the container in this slot; at most `capacity` + 1 are in use at once. */
    netnsOf(place: number): string;
    /** Number of allocated addresses in the plugin's own store. */
    taken(): Promise<number>;
    /**
     * The bytes stored per ADD of `adds`, which resolves with their number, in a pool without allocations; undefined
     * if the plugin does not store them itself.
     */
    stored(adds: () => Promise<number>): Promise<number | undefined>;
}

/** Of the 256 addresses of a /24, without network, broadcast and gateway. */
export const capacityOf24 = 253;
