import { systemClock } from "@antrea/async";
import { formatIp } from "@antrea/ip";
import { HostRules } from "../../../src/features/host-services/host-rules.ts";
import { HostStack } from "../../../src/features/host-services/host-stack.ts";
import { ListeningPorts } from "../../../src/features/host-services/listening.ts";
import { NftError } from "../../../src/platform/nftables.ts";
import { silentLogger } from "../../support/logger.ts";

const commandPattern = /^(add|delete) element inet antrea-services (\S+) \{ (.*) \}$/gm;

/** The host's stack of a Node, with a table of nftables that only knows elements, and is as strict with them as the kernel. */
export class HostSide {
    /** Texts of the Node's addresses; see `HostStack.addressesChanged`. */
    readonly own = new Set<string>();
    readonly stack: HostStack;
    readonly #rules: HostRules;
    /** By set and element: the value, "" in a set. */
    readonly #elements = new Map<string, string>();
    #generation = 1;

    constructor() {
        this.#rules = new HostRules(
            {
                clock: systemClock,
                generation: () => this.#generation,
                logger: silentLogger,
                nft: (args, input) => this.#nft(args, input),
            },
            { families: [4, 6], gatewayName: "antrea-gw0", nodePortAddresses: [], randomFully: false },
        );
        this.stack = new HostStack({
            rules: this.#rules,
            addresses: { has: (ip) => this.own.has(formatIp(ip)), known: { own: [], nodePorts: [] } },
            listening: () => Promise.resolve(new ListeningPorts([])),
            onRules: () => undefined,
        });
    }

    /** Writes what changed. Rejects with NftError if an element is not as the change takes it to be. */
    async write(): Promise<void> {
        await this.#rules.ensure();
    }

    /** `SET ELEMENT : VALUE` of each element that was written, sorted. */
    get elements(): readonly string[] {
        return Array.from(this.#elements, ([element, value]) => `${element} : ${value}`).sort();
    }

    #nft(args: readonly string[], input: string): Promise<string> {
        if (args.includes("tables")) return Promise.resolve("table inet antrea-services\n");
        if (args.includes("list")) return Promise.resolve("");
        this.#generation += 1;
        if (input.includes("delete table")) this.#elements.clear();
        for (const [, verb, set = "", list = ""] of input.matchAll(commandPattern)) {
            for (const text of list.split(", ")) {
                const [element = "", value = ""] = text.split(" : ");
                const key = `${set} ${element}`;
                const now = this.#elements.get(key);
                const isRight = verb === "add" ? now === undefined || now === value : now === value;
                if (!isRight)
                    return Promise.reject(new NftError("NFT_FAILED", "environment", `${verb} ${key}: ${now}`));
                if (verb === "add") this.#elements.set(key, value);
                else this.#elements.delete(key);
            }
        }
        return Promise.resolve("");
    }
}
