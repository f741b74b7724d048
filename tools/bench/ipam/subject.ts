/** A CNI IPAM plugin under test, with what it needs around it. The harness knows nothing else of it. */
export interface IpamSubject extends AsyncDisposable {
    /** Part of the ids of results. */
    readonly id: string;
    readonly title: string;
    /** The binary that is run for each call. */
    readonly program: string;
    /** Variables beside those of the protocol. */
    readonly environment: NodeJS.ProcessEnv;
    /** The network configuration, as it comes on standard input. */
    readonly config: Readonly<Record<string, unknown>>;
    /** Addresses that its pool can give. */
    readonly capacity: number;
    /** The network namespace of a container in that place; at most `capacity` and one more are used at once. */
    netnsOf(place: number): string;
    /** How many addresses are taken, by the plugin's own store. */
    taken(): Promise<number>;
    /**
     * The bytes that were stored for each ADD of `adds`, which resolves with how many these were, all in a pool without
     * claims; undefined where that is not the plugin's own work.
     */
    stored(adds: () => Promise<number>): Promise<number | undefined>;
}

/** Of 256 addresses of a /24: without network, broadcast and gateway. */
export const capacityOf24 = 253;
