import { type FieldValue, type Message } from "@antrea/openflow";
import { formatIp } from "@antrea/ip";

/** What the agent has changed by one bundle. */
export interface Written {
    /** When the switch answered that it applied the bundle, by `performance.now`. */
    readonly at: number;
    /** The ClusterIP that each change concerns; "" if it is that of no Service. */
    readonly of: readonly string[];
}

// OpenFlow 1.5 section 7.1.1
const echoRequest = 2;
const echoReply = 3;
const read: ReadonlySet<number> = new Set([14, 15, 33, 34]); // flow mod, group mod, bundle control, bundle add
const writing: ReadonlySet<number> = new Set([14, 15, 29, 34]); // flow mod, group mod, meter mod, bundle add
/** OpenFlow 1.5 section 7.3.9.2: the switch has applied a bundle. */
const commitReply = 5;
/** What is written without a bundle. */
const noBundle = -1;

/** Whether a message only keeps the connection alive. */
export function isEcho(frame: Uint8Array): boolean {
    return frame[1] === echoRequest || frame[1] === echoReply;
}

/** Whether a message changes a flow, a group or a meter, at once or with its bundle. */
export function isWrite(frame: Uint8Array): boolean {
    return writing.has(frame[1] ?? 0);
}

/** Attributes the changes in bundles to Services: a flow by its destination, a group by the flow that uses it. */
export class Bundles {
    readonly #open = new Map<number, string[]>();
    /** By group: the ClusterIP of a flow that uses it. */
    readonly #groups = new Map<number | "all", string>();
    /** Groups come before the flows that use them: by bundle, where they are in it. */
    readonly #unknown = new Map<number, { readonly at: number; readonly group: number | "all" }[]>();

    /** Whether messages of this type are to be given to `requested` and `replied`. */
    static reads(frame: Uint8Array): boolean {
        return read.has(frame[1] ?? 0);
    }

    /** A message of the agent. */
    requested(message: Message): void {
        if (message.type === "bundle_add") this.#add(message.bundleId, message.message);
        else if (message.type === "flow_mod" || message.type === "group_mod") this.#add(noBundle, message);
    }

    /** A message of the switch: what is applied by it, if it ends a bundle with changes. */
    replied(message: Message, at: number): Written | undefined {
        if (message.type !== "bundle_control" || message.control.control !== commitReply) return undefined;
        const { bundleId } = message.control;
        const of = [...(this.#open.get(noBundle) ?? []), ...(this.#open.get(bundleId) ?? [])];
        for (const key of [noBundle, bundleId]) {
            this.#open.delete(key);
            this.#unknown.delete(key);
        }
        return of.length === 0 ? undefined : { at, of };
    }

    #add(bundle: number, message: Message): void {
        const changes = this.#open.get(bundle) ?? [];
        this.#open.set(bundle, changes);
        if (message.type === "group_mod") {
            const group = message.mod.group.id;
            const known = this.#groups.get(group);
            if (known === undefined) {
                const unknown = this.#unknown.get(bundle) ?? [];
                this.#unknown.set(bundle, [...unknown, { at: changes.length, group }]);
            }
            changes.push(known ?? "");
        } else if (message.type === "flow_mod") {
            const { match, actions = [] } = message.mod.flow;
            const of = addressOf(match?.ipv4_dst);
            changes.push(of);
            for (const action of actions) if (action.type === "group") this.#uses(bundle, action.group, of);
        }
    }

    #uses(bundle: number, group: number, of: string): void {
        this.#groups.set(group, of);
        const changes = this.#open.get(bundle) ?? [];
        for (const { at } of (this.#unknown.get(bundle) ?? []).filter((one) => one.group === group)) changes[at] = of;
    }
}

/** "" for a prefix, as of routes. */
function addressOf(value: FieldValue | undefined): string {
    if (typeof value !== "number" && typeof value !== "bigint") return "";
    return formatIp({ family: 4, value: BigInt(value) });
}
