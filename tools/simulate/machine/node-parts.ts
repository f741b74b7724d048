import { type NodeParts } from "@antrea/agent/compose";
import { type CniCalls } from "@antrea/agent/features/cni-server";
import { CheckError } from "@antrea/agent/features/pod-network";
import { type Host } from "@antrea/agent/platform/host/host";
import { ProgramError } from "@antrea/agent/platform/program";
import { type LocalIo } from "./io.ts";
import { type Machine } from "./machine.ts";
import { MachineNic, MachineUplink } from "./uplink.ts";
import { namespacesOf } from "./pod-end.ts";

/**
 * The programs and settings of a machine, as the agent accesses them. It has no iptables, and its nft accepts every
 * table.
 */
export function hostOf(machine: Machine): Host {
    return {
        nft: () => Promise.resolve(""),
        rulesGeneration: () => undefined,
        run: (program) => {
            if (program === "tc") return Promise.resolve("[]");
            return Promise.reject(new ProgramError("PROGRAM_MISSING", "environment", `there is no ${program}`));
        },
        settings: {
            get: (path) => machine.settings.get(path) ?? "0",
            set: (path, value) => void machine.settings.set(path, value),
            setTxChecksumOffload: () => undefined,
        },
    };
}

/** The parts of an agent that access files, sockets and namespaces, for a machine; `serve` receives the CNI calls. */
export function partsOf(
    machine: Machine,
    io: LocalIo,
    serve: (calls: Pick<CniCalls, "call">) => void,
): Omit<NodeParts, "ipPools"> {
    return {
        uplink: () => new MachineUplink(machine, io),
        nicUplink: () => new MachineNic(io),
        conflist: ({ name, content }) => ({
            write: () => io.call(() => void machine.files.set(name, content)),
            remove: () => io.call(() => void machine.files.delete(name)),
        }),
        cniServer: (calls) => ({
            start: () => io.call(() => serve(calls), { lowMs: 20, highMs: 500 }),
            stop: () => Promise.resolve(),
        }),
        checkInterface: async ({ allocationProblem }, { known }) => {
            const problem = await allocationProblem(known.record);
            if (problem !== undefined) throw new CheckError("ALLOCATION", "environment", problem);
        },
        checkNetworkInterface: async ({ port, allocationProblem }, record) => {
            const isOpen = (port(record.hostIfName)?.ofPort ?? -1) > 0;
            const problem = isOpen ? await allocationProblem(record) : `OVS has not opened port ${record.hostIfName}`;
            if (problem !== undefined) throw new CheckError(isOpen ? "ALLOCATION" : "OVS_PORT", "environment", problem);
        },
        cniFiles: {
            list: () => io.call(() => [...machine.files.keys()]),
            read: (path) => io.call(() => machine.files.get(path.split("/").at(-1) ?? "") ?? ""),
        },
        namespaces: namespacesOf(machine),
    };
}
