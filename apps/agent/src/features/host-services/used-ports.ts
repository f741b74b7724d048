import { formatIp, type Family, type IpAddress } from "@antrea/ip";
import { problemText, type Problem, type ServedPort, type ServedService } from "@antrea/services";
import { inSlices } from "../../platform/slices.ts";
import { ListeningPorts, type SocketProtocol } from "./listening.ts";

/** Dependencies of UsedPorts. */
export interface UsedPortsComponents {
    /** See `readListeningPorts`. */
    readonly read: () => Promise<ListeningPorts>;
    /** The addresses of a family at which NodePorts are served. */
    readonly nodePortAddresses: (family: Family) => readonly IpAddress[];
}

/** An address of the Node, or its NodePort addresses, with a port at which a Service takes the packets. */
interface Place {
    readonly field: string;
    /** Undefined: a NodePort. */
    readonly ip: IpAddress | undefined;
    readonly family: Family;
    readonly protocol: SocketProtocol;
    readonly port: number;
}

interface Watched {
    readonly places: readonly Place[];
    /** Of the problem that `problemsOf` returned last. */
    text: string | undefined;
}

/**
 * Finds programs of the Node that listen where a Service takes the packets: at external addresses that are the Node's own,
 * and at NodePorts. A program that is itself an endpoint there is none.
 */
export class UsedPorts {
    readonly #components: UsedPortsComponents;
    readonly #watched = new Map<string, Watched>();
    #listening = new ListeningPorts([]);

    constructor(components: UsedPortsComponents) {
        this.#components = components;
    }

    /**
     * Watches a Service as it is now. Returns the problem that there was at the last check.
     *
     * @param own whether an external address is the Node's own and served there
     */
    problemsOf(service: Pick<ServedService, "key" | "ports">, own: (ip: IpAddress) => boolean): readonly Problem[] {
        const places = service.ports.flatMap((port) => placesOf(port, own));
        if (places.length === 0) {
            this.forget(service.key);
            return [];
        }
        const problem = this.#problemOf(places);
        this.#watched.set(service.key, { places, text: problem && problemText(problem) });
        return problem === undefined ? [] : [problem];
    }

    /** Watches a Service no longer. */
    forget(key: string): void {
        this.#watched.delete(key);
    }

    /**
     * Reads where programs listen, if there is a Service to be watched, and calls `changed` with the key of each one that has
     * another problem than `problemsOf` returned. Rejects with the error of reading.
     */
    async check(changed: (key: string) => void): Promise<void> {
        if (this.#watched.size === 0) return;
        this.#listening = await this.#components.read();
        await inSlices(this.#watched, ([key, { places, text }]) => {
            const problem = this.#problemOf(places);
            if ((problem && problemText(problem)) !== text) changed(key);
        });
    }

    #problemOf(places: readonly Place[]): Problem | undefined {
        const used = places.filter(({ ip, family, protocol, port }) =>
            this.#listening.has(ip === undefined ? this.#components.nodePortAddresses(family) : [ip], protocol, port),
        );
        const [first] = used;
        if (first === undefined) return undefined;
        // a NodePort of both families is one
        const values = new Set(used.map(valueOf));
        return {
            reason: "PortUsedByNode",
            field: first.field,
            value: valueOf(first),
            rule: "is a port on which a program of this Node listens; the Service gets its packets, the program does not",
            next: "let the program listen on another port or address, or choose another one for the Service",
            count: values.size,
        };
    }
}

function placesOf(served: ServedPort, own: (ip: IpAddress) => boolean): readonly Place[] {
    const { addresses, family, nodePort, port, protocol, serving } = served;
    // where its sockets are listed is another matter
    if (protocol === "SCTP") return [];
    const external = addresses
        .filter(({ kind, ip }) => kind !== "cluster" && own(ip))
        .map(({ kind, ip }) => {
            const field = kind === "external" ? "spec.externalIPs" : "status.loadBalancer.ingress";
            return { field, ip, family, protocol, port };
        });
    const nodePorts =
        nodePort === undefined
            ? []
            : [{ field: "spec.ports.nodePort", ip: undefined, family, protocol, port: nodePort.port }];
    return [...external, ...nodePorts].filter((place) => !serving.some((one) => one.host && one.port === place.port));
}

function valueOf({ ip, protocol, port }: Place): string {
    return ip === undefined ? `${protocol} ${port}` : `${formatIp(ip)} ${protocol} ${port}`;
}
