import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { cniPluginsPath, workPath } from "../paths.ts";
import { capacityOf24, type IpamSubject } from "./subject.ts";

const network = "bench-host-local";
const lastFile = "last_reserved_ip.0";

/** containernetworking's `host-local`: one file per address, on this Node only. */
export function openHostLocal(): IpamSubject {
    const dataDir = workPath("ipam-host-local");
    const folder = join(dataDir, network);
    const files = (): readonly string[] => {
        try {
            return readdirSync(folder).filter((name) => /^\d+(\.\d+){3}$/.test(name));
        } catch {
            return []; // no address was assigned yet
        }
    };
    const sizeOf = (name: string): number => statSync(join(folder, name)).size;
    return {
        id: "host-local",
        title: "host-local",
        program: join(cniPluginsPath(), "host-local"),
        environment: {},
        config: {
            cniVersion: "1.1.0",
            name: network,
            type: "none",
            ipam: { type: "host-local", dataDir, ranges: [[{ subnet: "10.81.0.0/24" }]] },
        },
        capacity: capacityOf24,
        netnsOf: (place) => `/run/netns/none-${place}`,
        taken: async () => files().length,
        // An ADD writes the file of its address, and that of the last assigned address.
        stored: async (adds) => {
            const count = await adds();
            const own = files().reduce((sum, name) => sum + sizeOf(name), 0);
            return own / count + sizeOf(lastFile);
        },
        [Symbol.asyncDispose]: async () => rmSync(dataDir, { recursive: true, force: true }),
    };
}
