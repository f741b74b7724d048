import { createHash } from "node:crypto";

/**
 * Prefix of the network in a record that was rebuilt from a link alias: followed by a hash of the name, or by nothing
 * if the alias had none. Network names begin with a letter or a digit (CNI specification, "Network configuration
 * format").
 */
const mark = "#";

/** Hexadecimal digits of the hash: sufficient for the networks of one Node, as the alias has little room. */
const hashLength = 8;

/**
 * The hash for a link alias of a record's network: the first 8 hexadecimal digits of the SHA-1 of its name, or what a
 * rebuilt record has of it (`networkOfHash`). Undefined if the network is not known.
 */
export function networkHash(network: string | undefined): string | undefined {
    if (network === undefined || network === mark) return undefined;
    if (network.startsWith(mark)) return network.slice(mark.length);
    return createHash("sha1").update(network).digest("hex").slice(0, hashLength);
}

/** Whether the word of an alias is a hash as `networkHash` returns it; false for undefined. */
export function isNetworkHash(word: string | undefined): boolean {
    return word?.length === hashLength && /^[0-9a-f]+$/.test(word);
}

/**
 * The network of a record that was rebuilt from an alias with this hash, or with none: no name, but "#" and the hash,
 * for `isOfNetwork` and `networkText`.
 */
export function networkOfHash(hash: string | undefined): string {
    return `${mark}${hash ?? ""}`;
}

/**
 * The network of a record, for messages: `network "NAME"`, or "another network" if only its hash, or nothing, is known.
 */
export function networkText(network: string): string {
    return network.startsWith(mark) ? "another network" : `network "${network}"`;
}

/**
 * Whether a record with this `network` belongs to the network `name`, compared by hash if the record has only that;
 * undefined if the record does not identify its network.
 */
export function isOfNetwork(network: string, name: string): boolean | undefined {
    if (network === mark) return undefined;
    return network.startsWith(mark) ? networkHash(name) === networkHash(network) : network === name;
}
