import { type Result } from "../result.ts";
import { servicesChanges } from "./services-changes.ts";
import { servicesGrowth } from "./services-growth.ts";
import { servicesQuiet } from "./services-quiet.ts";
import { servicesStart } from "./services-start.ts";
import { servicesTraffic } from "./services-traffic.ts";

export interface ServicesPart {
    readonly id: string;
    readonly label: string;
    readonly run: () => Promise<readonly Result[]>;
}

/** Kubernetes Services by the switch against kube-proxy, in parts that each get a new API server. */
export const serviceParts: readonly ServicesPart[] = [
    { id: "services-start", label: "start with many Services", run: servicesStart },
    { id: "services-changes", label: "changes of endpoints", run: servicesChanges },
    { id: "services-traffic", label: "traffic to Services", run: servicesTraffic },
    { id: "services-quiet", label: "Services without changes, restart", run: servicesQuiet },
    { id: "services-growth", label: "growth with Services and endpoints", run: servicesGrowth },
];
