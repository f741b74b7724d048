import type { UplinkState } from "../../../../src/platform/host/uplink/index.ts";

/** The uplinks of NICs, as far as the bridge of networks asks for them. */
export class FakeUplinks {
    readonly states = new Map<string, UplinkState>();
    readonly failures = new Map<string, unknown>();
    readonly portErrors = new Map<string, string>();
    readonly released: string[] = [];

    /** The NIC is a port, and a host port has its name. */
    move(nic: string): void {
        this.states.set(nic, { kind: "bridged", name: nic, physicalName: `${nic}~`, mac: "02:00:00:00:00:02" });
    }

    state(nic: string): UplinkState {
        return this.states.get(nic) ?? { kind: "idle" };
    }

    isMoved(nic: string): boolean {
        return ["bridged", "found"].includes(this.state(nic).kind);
    }

    bridgeName(nic: string): string {
        return `${nic}~br`;
    }

    failure(nic: string): unknown {
        return this.failures.get(nic);
    }

    portError(nic: string): string | undefined {
        return this.portErrors.get(nic);
    }

    attach(nic: string): Promise<{ readonly name: string; readonly peer: string }> {
        return Promise.resolve({ name: `patch-${nic}`, peer: `patch-${nic}~br` });
    }

    release(nic: string): Promise<void> {
        this.states.delete(nic);
        this.released.push(nic);
        return Promise.resolve();
    }
}
