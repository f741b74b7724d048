import { AntreaError } from "@antrea/errors";
import { formatIp, formatPrefix, parseIp, parsePrefix, type IpAddress, type Prefix } from "@antrea/ip";
import type { NicSettings } from "./nic-settings.ts";
import type { MovedAddress, MovedNeighbour, MovedRoute, Snapshot } from "./snapshot.ts";
import { steps, type Step } from "./types.ts";

/** The state of a move that must be known after the agent was killed; what a rollback starts from. */
export interface JournalEntry {
    /** The step about to be made, or made last. */
    readonly step: Step;
    /** As in BootContext. */
    readonly bootId: string;
    /** As in BootContext. A Node that is a container gets a new namespace with new links without a reboot. */
    readonly netns: string;
    /** Original name of the NIC, which the host port has after the move. */
    readonly name: string;
    /** Name of the NIC after the move. */
    readonly physicalName: string;
    readonly nic: NicSettings;
    /** The state of the link when the move or its rollback began. */
    readonly saved: Snapshot;
    /** ifindex of the host port's device once it has the complete configuration. */
    readonly hostIndex?: number;
}

const version = 1;

/**
 * Encodes the entry as JSON with addresses and prefixes as text and infinite lifetimes as "forever", so that it is
 * readable for manual recovery.
 */
export function formatEntry(entry: JournalEntry): string {
    return `${JSON.stringify({ version, ...entry }, replace, 1)}\n`;
}

/**
 * Decodes what `formatEntry` returned. Undefined if the text is not an entry, is damaged or of another version; never
 * throws.
 */
export function parseEntry(text: string): JournalEntry | undefined {
    try {
        const reader = new Fields(JSON.parse(text));
        if (reader.number("version") !== version) return undefined;
        const step = steps.find((one) => one === reader.text("step"));
        if (step === undefined) return undefined;
        const hostIndex = reader.optionalNumber("hostIndex");
        return {
            step,
            bootId: reader.text("bootId"),
            netns: reader.text("netns"),
            name: reader.text("name"),
            physicalName: reader.text("physicalName"),
            nic: nicOf(reader.fields("nic")),
            saved: snapshotOf(reader.fields("saved")),
            ...(hostIndex !== undefined && { hostIndex }),
        };
    } catch {
        return undefined;
    }
}

function replace(_key: string, value: unknown): unknown {
    if (value === Infinity) return "forever";
    if (typeof value !== "object" || value === null) return value;
    if ("family" in value && "value" in value) return formatIp(value as IpAddress);
    if ("family" in value && "base" in value) return formatPrefix(value as Prefix);
    return value;
}

function nicOf(fields: Fields): NicSettings {
    const ipv6Disabled = fields.optionalText("ipv6Disabled");
    const addrGenMode = fields.optionalText("addrGenMode");
    return {
        index: fields.number("index"),
        mac: fields.text("mac"),
        mtu: fields.number("mtu"),
        group: fields.number("group"),
        up: fields.boolean("up"),
        promiscuous: fields.boolean("promiscuous"),
        txChecksumOffload: fields.boolean("txChecksumOffload"),
        receiveMerging: fields.boolean("receiveMerging"),
        ...(ipv6Disabled !== undefined && { ipv6Disabled }),
        ...(addrGenMode !== undefined && { addrGenMode }),
    };
}

function snapshotOf(fields: Fields): Snapshot {
    return {
        takenAt: fields.number("takenAt"),
        addresses: fields.list("addresses").map(addressOf),
        routes: fields.list("routes").map(routeOf),
        neighbours: fields.list("neighbours").map(neighbourOf),
        altNames: fields.texts("altNames"),
    };
}

function addressOf(fields: Fields): MovedAddress {
    const [label, metric, protocol] = [
        fields.optionalText("label"),
        fields.optionalNumber("metric"),
        fields.optionalNumber("protocol"),
    ];
    const [peer, broadcast] = [fields.optionalIp("peer"), fields.optionalIp("broadcast")];
    const lifetime = fields.optional("lifetime");
    return {
        ip: parseIp(fields.text("ip")),
        prefixLength: fields.number("prefixLength"),
        scope: fields.number("scope"),
        flags: fields.number("flags"),
        ...(peer !== undefined && { peer }),
        ...(label !== undefined && { label }),
        ...(broadcast !== undefined && { broadcast }),
        ...(lifetime !== undefined && {
            lifetime: {
                preferredSeconds: lifetime.seconds("preferredSeconds"),
                validSeconds: lifetime.seconds("validSeconds"),
            },
        }),
        ...(metric !== undefined && { metric }),
        ...(protocol !== undefined && { protocol }),
    };
}

function routeOf(fields: Fields): MovedRoute {
    const dst = parsePrefix(fields.text("dst"));
    const [via, src, from] = [fields.optionalIp("via"), fields.optionalIp("src"), fields.optionalText("from")];
    const numbers = ["mtu", "tos", "expiresSeconds", "preference", "realms"] as const;
    const optional = numbers.flatMap((name) => {
        const value = fields.optionalNumber(name);
        return value === undefined ? [] : [[name, value] as const];
    });
    const metrics = fields.optional("metrics")?.metrics();
    return {
        family: dst.family,
        dst,
        table: fields.number("table"),
        protocol: fields.number("protocol"),
        scope: fields.number("scope"),
        type: fields.number("type"),
        metric: fields.number("metric"),
        onlink: fields.boolean("onlink"),
        ...(via !== undefined && { via }),
        ...(src !== undefined && { src }),
        ...(from !== undefined && { from: parsePrefix(from) }),
        ...Object.fromEntries(optional),
        ...(metrics !== undefined && { metrics }),
    };
}

function neighbourOf(fields: Fields): MovedNeighbour {
    const mac = fields.optionalText("mac");
    return {
        ip: parseIp(fields.text("ip")),
        state: fields.number("state"),
        flags: fields.number("flags"),
        ...(mac !== undefined && { mac }),
    };
}

class JournalError extends AntreaError<"DAMAGED"> {}

function damaged(field: string): JournalError {
    return new JournalError("DAMAGED", "environment", `the journal of the uplink is damaged: ${field}`);
}

/** The fields of a JSON object, each decoded as its expected type. Throws DAMAGED, which the caller handles. */
class Fields {
    readonly #values: Readonly<Record<string, unknown>>;

    constructor(value: unknown) {
        if (typeof value !== "object" || value === null) throw damaged("it is no object");
        this.#values = value as Readonly<Record<string, unknown>>;
    }

    text(name: string): string {
        const value = this.#values[name];
        if (typeof value !== "string") throw damaged(name);
        return value;
    }

    number(name: string): number {
        const value = this.#values[name];
        if (typeof value !== "number") throw damaged(name);
        return value;
    }

    boolean(name: string): boolean {
        const value = this.#values[name];
        if (typeof value !== "boolean") throw damaged(name);
        return value;
    }

    seconds(name: string): number {
        return this.#values[name] === "forever" ? Infinity : this.number(name);
    }

    fields(name: string): Fields {
        return new Fields(this.#values[name]);
    }

    list(name: string): readonly Fields[] {
        return this.#array(name).map((value) => new Fields(value));
    }

    texts(name: string): readonly string[] {
        return this.#array(name).map(String);
    }

    metrics(): Readonly<Record<number, number | string>> {
        for (const value of Object.values(this.#values)) {
            if (typeof value !== "number" && typeof value !== "string") throw damaged("metrics");
        }
        return this.#values as Readonly<Record<number, number | string>>;
    }

    optional(name: string): Fields | undefined {
        return this.#values[name] === undefined ? undefined : this.fields(name);
    }

    optionalText(name: string): string | undefined {
        return this.#values[name] === undefined ? undefined : this.text(name);
    }

    optionalNumber(name: string): number | undefined {
        return this.#values[name] === undefined ? undefined : this.number(name);
    }

    optionalIp(name: string): IpAddress | undefined {
        const text = this.optionalText(name);
        return text === undefined ? undefined : parseIp(text);
    }

    #array(name: string): readonly unknown[] {
        const value = this.#values[name];
        if (!Array.isArray(value)) throw damaged(name);
        return value;
    }
}
