import type { AgentConfig } from "@antrea/settings";

/**
 * The ports of the bridge, as the tunnel uses them; OvsBridge fits. Asynchronous methods reject with OvsdbError, on
 * abort with `ABORTED`, or OvsBridgeError.
 */
export interface TunnelPorts {
    ports(): readonly { readonly name: string; readonly externalIds: ReadonlyMap<string, string> }[];
    port(name: string): { readonly type: string } | undefined;
    /** Creates the port, or updates the one of its name; does not wait for OVS. */
    ensurePort(
        spec: {
            readonly name: string;
            readonly type: AgentConfig["tunnelType"];
            readonly ofPortRequest: number;
            readonly externalIds: Readonly<Record<string, string>>;
            readonly options: Readonly<Record<string, string>>;
        },
        signal?: AbortSignal,
    ): Promise<void>;
    /** Succeeds if there is no such port. */
    deletePort(name: string, signal?: AbortSignal): Promise<void>;
    /** Waits for the number that OVS assigns, up to `timeoutMs` milliseconds. */
    ofPort(name: string, timeoutMs: number, signal?: AbortSignal): Promise<number>;
}

/** Settings of TunnelPort. */
export interface TunnelPortOptions {
    /** The OpenFlow port number to request. */
    readonly ofPort: number;
    readonly type: AgentConfig["tunnelType"];
    /** UDP or TCP port; 0 for the default of the type. */
    readonly destinationPort: number;
    /** Whether the outer header has a checksum. */
    readonly csum: boolean;
}

const name = "antrea-tun0";
const ofPortTimeoutMs = 10_000;

/**
 * The single port for tunnels to all Nodes, `antrea-tun0`: the flows set the destination of each packet (flow-based
 * tunnel, ovs-vswitchd.conf.db(5)).
 */
export class TunnelPort {
    readonly #ports: TunnelPorts;
    readonly #options: TunnelPortOptions;

    constructor(components: { readonly ports: TunnelPorts }, options: TunnelPortOptions) {
        this.#ports = components.ports;
        this.#options = options;
    }

    /**
     * Creates or updates the port in OVSDB; resolves with the OpenFlow port number that OVS has assigned. Idempotent.
     * Rejects with OvsBridgeError `PORT_REFUSED` if OVS cannot open it, or if it does not within 10 s or the signal
     * aborts.
     */
    async ensure(signal?: AbortSignal): Promise<number> {
        const { ofPort, type, destinationPort, csum } = this.#options;
        const present = this.#ports.port(name);
        // If the type of a port changes, OVS keeps its number and name, but the tunnel does not work.
        if (present !== undefined && present.type !== type) await this.#ports.deletePort(name, signal);
        await this.#ports.ensurePort(
            {
                name,
                type,
                ofPortRequest: ofPort,
                externalIds: tunnelIds,
                options: {
                    remote_ip: "flow",
                    key: "flow",
                    ...(destinationPort !== 0 && { dst_port: String(destinationPort) }),
                    ...(csum && { csum: "true" }),
                },
            },
            signal,
        );
        return this.#ports.ofPort(name, ofPortTimeoutMs, signal);
    }
}

/**
 * Removes all tunnel ports of the bridge (external ID `antrea-type` is tunnel), for a start in another mode. Rejects as
 * `deletePort`; the remaining ones stay then.
 */
export async function removeTunnelPorts(
    ports: Pick<TunnelPorts, "ports" | "deletePort">,
    signal?: AbortSignal,
): Promise<void> {
    for (const port of ports.ports()) {
        if (port.externalIds.get(typeKey) === tunnelIds[typeKey]) await ports.deletePort(port.name, signal);
    }
}

const typeKey = "antrea-type";
const tunnelIds = { [typeKey]: "tunnel" } as const;
