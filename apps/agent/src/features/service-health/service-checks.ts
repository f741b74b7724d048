import type { Socket } from "node:net";
import { parseIp, prefixContains, IpError, type Prefix } from "@antrea/ip";
import { referenceTo, refOf, services, type EventInput } from "@antrea/kube";
import type { ServedHealthCheck, ServedService } from "@antrea/services";
import { answerService } from "./answers.ts";
import type { HealthPorts } from "./health-ports.ts";

/** Dependencies of ServiceChecks. */
export interface ServiceChecksComponents {
    readonly ports: Pick<HealthPorts, "delete" | "set">;
    readonly isHealthy: () => boolean;
    readonly record: (event: EventInput) => void;
}

/** What OVS serves of a Service, as far as health checks need it. */
export type CheckedService = Pick<ServedService, "healthCheck" | "uid">;

interface Checked {
    readonly uid: string;
    readonly check: ServedHealthCheck;
}

/** The health check node ports of the Services that OVS has. */
export class ServiceChecks {
    readonly #components: ServiceChecksComponents;
    readonly #options: { readonly nodeName: string; readonly addresses: readonly Prefix[] };
    readonly #checked = new Map<string, Checked>();

    /** `addresses`: the CIDRs of the Node's addresses at which ports are served; none: all. */
    constructor(
        components: ServiceChecksComponents,
        options: { readonly nodeName: string; readonly addresses: readonly Prefix[] },
    ) {
        this.#components = components;
        this.#options = options;
    }

    /**
     * OVS has this Service now; undefined: it has none of it.
     *
     * @returns whether a port is to be opened or closed
     */
    installed(key: string, service: CheckedService | undefined): boolean {
        const { ports, isHealthy } = this.#components;
        const before = this.#checked.get(key)?.check.port;
        const check = service?.healthCheck;
        if (service === undefined || check === undefined) {
            this.#checked.delete(key);
            ports.delete(key);
            return before !== undefined;
        }
        this.#checked.set(key, { uid: service.uid, check });
        if (before === check.port) return false;
        const answer = answerService(key, () => ({
            localEndpoints: this.#checked.get(key)?.check.localEndpoints ?? 0,
            isHealthy: isHealthy(),
        }));
        const { addresses } = this.#options;
        const place = { host: undefined, port: check.port, answer };
        ports.set(key, addresses.length === 0 ? place : { ...place, admits: (socket) => isAmong(socket, addresses) });
        return true;
    }

    /** Reports that the port of a Service cannot be opened on this Node. */
    failed(key: string, port: number, reason: string): void {
        const checked = this.#checked.get(key);
        if (checked === undefined) return;
        const { namespace, name } = refOf(key);
        const { nodeName } = this.#options;
        this.#components.record({
            type: "Warning",
            // as kube-proxy calls it
            reason: "FailedToStartServiceHealthcheck",
            action: "Listen",
            regarding: referenceTo(services, { metadata: { namespace, name, uid: checked.uid } }),
            note:
                `spec.healthCheckNodePort: ${port} is not served on Node ${nodeName}: ${reason}; load balancers take the ` +
                `Node for one without endpoints; next: find the program on the Node (ss -ltnp sport = :${port}) and end it`,
        });
    }
}

/** Whether a connection is to one of these addresses. Listening at all of them needs no list of the Node's addresses. */
function isAmong({ localAddress = "" }: Pick<Socket, "localAddress">, addresses: readonly Prefix[]): boolean {
    try {
        const ip = parseIp(localAddress.replace(/^::ffff:(?=[0-9.]+$)/i, "").replace(/%.*$/, ""));
        return addresses.some((prefix) => prefixContains(prefix, ip));
    } catch (error) {
        if (error instanceof IpError) return false;
        throw error;
    }
}
