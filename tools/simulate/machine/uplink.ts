import { type NodeParts } from "@antrea/agent/compose";
import { NetlinkError } from "@antrea/netlink";
import { type LocalIo } from "./io.ts";
import { type Machine } from "./machine.ts";

type Uplink = ReturnType<NodeParts["uplink"]>;

/** The NIC of a machine in bridging mode: a move succeeds if OVS is available, and lasts until the next boot. */
export class MachineUplink implements Uplink {
    readonly #machine: Machine;
    readonly #io: LocalIo;
    #state: Uplink["state"] = { kind: "idle" };

    constructor(machine: Machine, io: LocalIo) {
        this.#machine = machine;
        this.#io = io;
    }

    get state(): Uplink["state"] {
        return this.#state;
    }

    recover(): Promise<Uplink["state"]> {
        return this.#io.call(() => {
            if (this.#machine.isUplinkMoved) this.#state = { kind: "found", name: this.#machine.uplink.name };
            return this.#state;
        });
    }

    async connect(name: string): Promise<Uplink["state"]> {
        if (!this.#machine.hasOvs) return (this.#state = { kind: "waiting", name, reason: "OVS is away" });
        return this.#io.call(() => {
            this.#machine.isUplinkMoved = true;
            const { mac = "" } = this.#machine.uplink;
            return (this.#state = { kind: "bridged", name, physicalName: `${name}~`, mac });
        });
    }

    /** The kernel forwards by the last state, whatever happens to OVS. */
    check(): Promise<Uplink["state"]> {
        return Promise.resolve(this.#state);
    }

    restore(): Promise<void> {
        return this.#io.call(() => {
            this.#machine.isUplinkMoved = false;
            this.#state = { kind: "idle" };
        });
    }
}

/** A NIC of the bridge for networks: it has no addresses, so it is never moved. */
export class MachineNic implements Uplink {
    readonly state: Uplink["state"] = { kind: "idle" };
    readonly #io: LocalIo;

    constructor(io: LocalIo) {
        this.#io = io;
    }

    recover(): Promise<Uplink["state"]> {
        return this.#io.call(() => this.state);
    }

    connect(name: string): Promise<Uplink["state"]> {
        return Promise.reject(new NetlinkError("EADDRNOTAVAIL", "internal", `NIC ${name} has no address`));
    }

    check(): Promise<Uplink["state"]> {
        return this.recover();
    }

    restore(): Promise<void> {
        return this.#io.call(() => undefined);
    }
}
