import { SharedReads } from "@antrea/async";
import { messageOf } from "@antrea/errors";
import {
    isKubeError,
    networkAttachmentDefinitions,
    refOf,
    type ApiClient,
    type NetworkAttachmentDefinition,
} from "@antrea/kube";
import { NetworksError, untilApiAnswers } from "./errors.ts";

const askLimitMs = 10_000;

/**
 * Reads networks when a Pod asks for them: no watch, so nothing is outdated and idle agents cost nothing. Each caller gets
 * a network as it was after its call: callers share a request only if that begins after all of them.
 */
export class Definitions {
    readonly #api: Pick<ApiClient, "find">;
    /** By `namespace/name`. */
    readonly #reads = new SharedReads((key) => this.#read(key));

    constructor(components: { readonly api: Pick<ApiClient, "find"> }) {
        this.#api = components.api;
    }

    /** The network of this name. Rejects with NetworksError `NO_NETWORK` or `API_AWAY`. */
    async find(namespace: string, name: string): Promise<NetworkAttachmentDefinition> {
        const key = `${namespace}/${name}`;
        try {
            const found = await this.#reads.get(key);
            if (found !== undefined) return found;
        } catch (error) {
            if (!isKubeError(error)) throw error;
            const text = `network ${key} cannot be read (${messageOf(error)})`;
            throw new NetworksError("API_AWAY", `${text}; next: ${untilApiAnswers}`);
        }
        throw new NetworksError(
            "NO_NETWORK",
            `network ${key}: there is no NetworkAttachmentDefinition of this name, or the CustomResourceDefinition of these (k8s.cni.cncf.io/v1) is not installed; next: create it, or correct the annotation k8s.v1.cni.cncf.io/networks`,
        );
    }

    #read(key: string): Promise<NetworkAttachmentDefinition | undefined> {
        return this.#api.find(networkAttachmentDefinitions, refOf(key), { timeoutMs: askLimitMs });
    }
}
