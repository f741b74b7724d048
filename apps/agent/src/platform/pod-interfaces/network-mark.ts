import { createHash } from "node:crypto";

/**
 * Begins what a record that was rebuilt from a link alias says of its CNI network: a hash of the name, or nothing where the
 * alias had none. Names of networks begin with a letter or a digit (CNI specification, "Network configuration format").
 */
const mark = "#";

/** Hexadecimal digits of the hash: enough for the networks of one Node, and an alias has little room. */
const hashLength = 8;

/** The hash in a link alias of a network, as a record names it; undefined when it is not known. */
export function networkHash(network: string | undefined): string | undefined {
    if (network === undefined || network === mark) return undefined;
    if (network.startsWith(mark)) return network.slice(mark.length);
    return createHash("sha1").update(network).digest("hex").slice(0, hashLength);
}

/** Whether the word of an alias is such a hash. */
export function isNetworkHash(word: string | undefined): boolean {
    return word?.length === hashLength && /^[0-9a-f]+$/.test(word);
}

/** What a record says of its network that was rebuilt from an alias with this hash, or with none. */
export function networkOfHash(hash: string | undefined): string {
    return `${mark}${hash ?? ""}`;
}

/** Which network a record names, in a message. */
export function networkText(network: string): string {
    return network.startsWith(mark) ? "another network" : `network "${network}"`;
}

/** Whether a record is of the network of that name; undefined when it does not say of which it is. */
export function isOfNetwork(network: string, name: string): boolean | undefined {
    if (network === mark) return undefined;
    return network.startsWith(mark) ? networkHash(name) === networkHash(network) : network === name;
}
