import { endpointSlices, services, type ApiClient } from "@antrea/kube";
import { inParallel } from "../in-parallel.ts";
import { type Change } from "./changes.ts";
import {
    clusterIp,
    endpointsInSlice,
    mostServices,
    replacementIp,
    serviceNamespace,
    servicePort,
    sliceOf,
} from "./service-objects.ts";

/** First numbers of the addresses of the endpoints, and of those that replace one. */
const firstAddress = 500_000;
const firstReplacement = 600_000;
const width = 16;
const port = { name: "", port: servicePort, protocol: "TCP" } as const;

/** A Service of many endpoints. */
export class ManyEndpoints {
    readonly clusterIp: string;
    readonly #api: ApiClient;
    readonly #name: string;
    readonly #number: number;
    readonly #addresses: readonly string[];
    #changes = 0;

    private constructor(api: ApiClient, number: number, endpoints: number) {
        this.#api = api;
        this.#name = `many-${number}`;
        this.#number = number;
        this.clusterIp = clusterIp(mostServices + number);
        this.#addresses = Array.from({ length: endpoints }, (_, at) => replacementIp(firstAddress + at));
    }

    /** Creates it; each has its own number below 100. */
    static async create(api: ApiClient, number: number, endpoints: number): Promise<ManyEndpoints> {
        const many = new ManyEndpoints(api, number, endpoints);
        await api.create(services, {
            metadata: { namespace: serviceNamespace, name: many.#name },
            spec: { clusterIP: many.clusterIp, ports: [port] },
        });
        const slices = Math.ceil(endpoints / endpointsInSlice);
        await inParallel(slices, width, (at) =>
            api.create(endpointSlices, sliceOf(many.#name, many.#sliceName(at), [port], many.#addressesOf(at))),
        );
        return many;
    }

    /** The replacement of its first endpoint, by another address each time. */
    change(): Change {
        const address = replacementIp(firstReplacement + 1_000 * this.#number + this.#changes++);
        const { endpoints = [] } = sliceOf(this.#name, "", [port], [address, ...this.#addressesOf(0).slice(1)]);
        const place = { namespace: serviceNamespace, name: this.#sliceName(0) };
        const write = async (): Promise<void> => {
            await this.#api.patch(endpointSlices, place, { type: "merge", body: { endpoints } });
        };
        return { clusterIp: this.clusterIp, address, write };
    }

    #sliceName(at: number): string {
        return `${this.#name}-${at}`;
    }

    #addressesOf(slice: number): readonly string[] {
        return this.#addresses.slice(slice * endpointsInSlice, (slice + 1) * endpointsInSlice);
    }
}
