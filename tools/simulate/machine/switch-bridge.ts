import { OvsBridgeError } from "@antrea/agent/platform/ovs/bridge";
import { type Platform } from "@antrea/agent/platform/platform";
import { OvsAway } from "./bridge.ts";
import { type LocalIo } from "./io.ts";
import { type Machine } from "./machine.ts";
import { type AccessPort, type StoredSwitch } from "./stored-switch.ts";

type SwitchBridge = ReturnType<Platform["switchBridges"]["of"]>;
type SwitchPort = ReturnType<SwitchBridge["ports"]>[number];

const ovs = { lowMs: 1, highMs: 40 };

/** A bridge of a machine for networks other than the Pod network, as seen by one process. */
export class MachineSwitchBridge implements Required<SwitchBridge> {
    readonly name: string;
    readonly #machine: Machine;
    readonly #io: LocalIo;

    constructor(machine: Machine, io: LocalIo, name: string) {
        this.#machine = machine;
        this.#io = io;
        this.name = name;
    }

    get exists(): boolean {
        return this.#stored !== undefined;
    }

    /** Nobody else makes bridges of a machine. */
    refuseForeign(): void {
        // nothing to refuse
    }

    async ensure(nics: readonly string[], signal?: AbortSignal): Promise<void> {
        const isRight = this.#stored !== undefined && isSame(this.#stored.nics, nics);
        if (isRight) return;
        await this.#write(() => {
            const { switches } = this.#machine;
            const stored = switches.get(this.name) ?? { nics, ports: new Map() };
            stored.nics = nics;
            switches.set(this.name, stored);
        }, signal);
    }

    async takeOver(signal?: AbortSignal): Promise<readonly string[]> {
        const others = (): readonly string[] => [...this.#machine.switches.keys()].filter((name) => name !== this.name);
        const former = others();
        if (former.length === 0) return [];
        await this.#write(() => {
            const { switches } = this.#machine;
            const all = [...switches.values()];
            const ports = new Map(all.flatMap((stored) => [...stored.ports]));
            for (const name of others()) switches.delete(name);
            switches.set(this.name, { nics: all.flatMap((stored) => stored.nics), ports });
            this.#machine.portsChanged([...ports.keys()]);
        }, signal);
        return former;
    }

    async delete(signal?: AbortSignal): Promise<void> {
        if (!this.exists) return;
        await this.#write(() => {
            const names = [...(this.#stored?.ports.keys() ?? [])];
            this.#machine.switches.delete(this.name);
            this.#machine.portsChanged(names);
        }, signal);
    }

    ports(): readonly SwitchPort[] {
        return [...(this.#stored?.ports.values() ?? [])].flatMap(({ name, vlan, externalIds, ofPort }) => {
            if (externalIds["container-id"] === undefined) return [];
            // OVS closes the port when the link is gone.
            const isOpen = this.#machine.links.has(name);
            return [
                {
                    name,
                    vlan,
                    externalIds: new Map(Object.entries(externalIds)),
                    ofPort: isOpen ? ofPort : -1,
                    error: isOpen ? undefined : `could not open network device ${name} (No such device)`,
                },
            ];
        });
    }

    nics(): ReturnType<SwitchBridge["nics"]> {
        return (this.#stored?.nics ?? []).map((name) => ({ name, error: undefined }));
    }

    async ensurePorts(ports: readonly AccessPort[], signal?: AbortSignal): Promise<void> {
        this.#need();
        await this.#write(() => {
            const stored = this.#need();
            for (const port of ports) {
                const ofPort = stored.ports.get(port.name)?.ofPort ?? this.#machine.nextIndex();
                stored.ports.set(port.name, { ...port, ofPort });
            }
            this.#machine.portsChanged(ports.map(({ name }) => name));
        }, signal);
    }

    async deletePorts(names: readonly string[], signal?: AbortSignal): Promise<void> {
        await this.#write(() => {
            for (const name of names) this.#stored?.ports.delete(name);
            this.#machine.portsChanged(names);
        }, signal);
    }

    async opened(names: readonly string[], timeoutMs: number, signal?: AbortSignal): Promise<readonly SwitchPort[]> {
        const limit = AbortSignal.timeout(timeoutMs);
        await this.#machine.ovs(signal === undefined ? limit : AbortSignal.any([signal, limit]));
        return this.#io.call(() => {
            const known = new Map(this.ports().map((port) => [port.name, port]));
            const refused = names.find((name) => (known.get(name)?.ofPort ?? -1) <= 0);
            if (refused === undefined) return names.flatMap((name) => known.get(name) ?? []);
            const reason = known.get(refused)?.error ?? "no reason given";
            throw new OvsBridgeError("PORT_REFUSED", "environment", `OVS could not add port ${refused}: ${reason}`, {
                details: { port: refused, reason },
            });
        }, ovs);
    }

    get #stored(): StoredSwitch | undefined {
        return this.#machine.switches.get(this.name);
    }

    /** A transaction is not queued while the database is unavailable. */
    async #write(work: () => void, signal: AbortSignal | undefined): Promise<void> {
        signal?.throwIfAborted();
        if (!this.#machine.hasOvs) throw new OvsAway();
        await this.#io.call(work, ovs);
    }

    #need(): StoredSwitch {
        const stored = this.#stored;
        if (stored !== undefined) return stored;
        throw new OvsBridgeError("BRIDGE_MISSING", "environment", `OVS has no bridge ${this.name} yet`);
    }
}

/** The bridges of a machine, as one process accesses them; packets are not simulated. */
export function switchBridgesOf(machine: Machine, io: LocalIo): Platform["switchBridges"] {
    return {
        names: () => [...machine.switches.keys()],
        of: ({ bridge }) => new MachineSwitchBridge(machine, io, bridge),
        nic: unusedBridgeOf,
        connection: () => ({
            start: () => undefined,
            packetOut: () => undefined,
            close: () => Promise.resolve(),
        }),
    };
}

/** The bridge that a NIC would have if the Node used it too: NICs of machines have no addresses. */
function unusedBridgeOf(nic: string): ReturnType<Platform["switchBridges"]["nic"]> {
    const refused = (): Promise<never> =>
        Promise.reject(
            new OvsBridgeError("BRIDGE_MISSING", "internal", `the NIC ${nic} of a simulated Node has no addresses`),
        );
    return {
        name: `${nic}~br`,
        patch: { name: `patch-${nic}`, peer: `patch-${nic}~br` },
        exists: false,
        port: () => undefined,
        bridgeOf: () => undefined,
        ensurePort: refused,
        deletePort: () => Promise.resolve(),
        acknowledged: () => Promise.resolve(),
        ofPort: refused,
        attach: refused,
        delete: () => Promise.resolve(),
    };
}

function isSame(one: readonly string[], other: readonly string[]): boolean {
    return one.length === other.length && one.every((name) => other.includes(name));
}
