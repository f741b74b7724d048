import { type Result } from "../result.ts";
import { networksBurst } from "./networks-burst.ts";
import { networksCalls } from "./networks-calls.ts";
import { networksIpam } from "./networks-ipam.ts";
import { networksMany } from "./networks-many.ts";
import { networksTraffic } from "./networks-traffic.ts";

export interface NetworksPart {
    readonly id: string;
    readonly label: string;
    readonly run: () => Promise<readonly Result[]>;
}

/** VLAN networks and addresses for other plugins, in parts that each get a new API server and Node. */
export const networkParts: readonly NetworksPart[] = [
    { id: "networks-burst", label: "128 Pods with 16 networks at once", run: networksBurst },
    { id: "networks-calls", label: "ADD and DEL by the number of networks", run: networksCalls },
    { id: "networks-ipam", label: "addresses for other plugins", run: networksIpam },
    { id: "networks-traffic", label: "Pod to Pod in a VLAN", run: networksTraffic },
    { id: "networks-many", label: "2,048 interfaces at rest", run: networksMany },
];
