import { join } from "node:path";
import { cniPluginsPath } from "../paths.ts";
import { type IpamSubject } from "./subject.ts";

/** containernetworking's `static`: it has no pool and no store, and assigns the address of its configuration. */
export function openStatic(): IpamSubject {
    return {
        id: "static",
        title: "static",
        program: join(cniPluginsPath(), "static"),
        environment: {},
        config: {
            cniVersion: "1.1.0",
            name: "bench-static",
            type: "none",
            ipam: { type: "static", addresses: [{ address: "10.83.0.2/24", gateway: "10.83.0.1" }] },
        },
        capacity: 1,
        netnsOf: (place) => `/run/netns/none-${place}`,
        taken: async () => 0,
        stored: async () => undefined,
        [Symbol.asyncDispose]: async () => undefined,
    };
}
