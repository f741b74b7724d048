import type { AgentConfig } from "@antrea/settings";

/** The ports of the bridge, as the tunnel needs them. */
export interface TunnelPorts {
    ports(): readonly { readonly name: string; readonly externalIds: ReadonlyMap<string, string> }[];
    port(name: string): { readonly type: string } | undefined;
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
    deletePort(name: string, signal?: AbortSignal): Promise<void>;
    ofPort(name: string, timeoutMs: number, signal?: AbortSignal): Promise<number>;
}

export interface TunnelPortOptions {
    readonly ofPort: number;
    readonly type: AgentConfig["tunnelType"];
    /** UDP or TCP port; 0 for the one of the type. */
    readonly destinationPort: number;
    /** Checksums of the outer header. */
    readonly csum: boolean;
}

const name = "antrea-tun0";
const ofPortTimeoutMs = 10_000;

/** The one port for tunnels to all Nodes: each packet brings its destination with it (flow-based, ovs-vswitchd.conf.db(5)). */
export class TunnelPort {
    readonly #ports: TunnelPorts;
    readonly #options: TunnelPortOptions;

    constructor(components: { readonly ports: TunnelPorts }, options: TunnelPortOptions) {
        this.#ports = components.ports;
        this.#options = options;
    }

    /** Puts the port into OVSDB as it must be; returns its number. */
    async ensure(signal?: AbortSignal): Promise<number> {
        const { ofPort, type, destinationPort, csum } = this.#options;
        const present = this.#ports.port(name);
        // OVS keeps the number and the name of a port that changes its type, and not the tunnel.
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

/** Removes the tunnel ports that a start in another mode left. */
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
