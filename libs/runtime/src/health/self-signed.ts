import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { isIP, SocketAddress } from "node:net";
import { bitString, context, der, integer, oid, sequence, Tag, time } from "./der.ts";

/** A certificate with its key, both PEM. */
export interface Certificate {
    readonly cert: string;
    readonly key: string;
}

export interface SelfSignedOptions {
    /** The common name of subject and issuer, at most 64 characters. */
    readonly commonName: string;
    /** DNS names and IP addresses it is valid for, at least one. */
    readonly names: readonly string[];
    /** Wall time from which it is valid, in milliseconds. */
    readonly notBeforeMs: number;
    readonly validMs: number;
}

const Oid = {
    commonName: "2.5.4.3",
    ecdsaWithSha256: "1.2.840.10045.4.3.2",
    subjectKeyIdentifier: "2.5.29.14",
    keyUsage: "2.5.29.15",
    subjectAltName: "2.5.29.17",
    basicConstraints: "2.5.29.19",
    extendedKeyUsage: "2.5.29.37",
    serverAuth: "1.3.6.1.5.5.7.3.1",
} as const;

/**
 * Makes a P-256 key and an X.509 v3 certificate for it, signed by itself (RFC 5280 section 4.1). It may stand in a
 * client's list of authorities: it is one, for no other certificate (path length 0).
 */
export function createSelfSigned(options: SelfSignedOptions): Certificate {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const publicInfo = publicKey.export({ type: "spki", format: "der" });
    const name = sequence(
        der(Tag.SET, sequence(oid(Oid.commonName), der(Tag.UTF8_STRING, Buffer.from(options.commonName, "utf8")))),
    );
    const algorithm = sequence(oid(Oid.ecdsaWithSha256));
    const toBeSigned = sequence(
        context(0, true, integer(2n)),
        // 20 octets at most, and not negative: 19 random ones after a 1.
        integer(BigInt(`0x01${randomBytes(18).toString("hex")}`)),
        algorithm,
        name,
        sequence(time(options.notBeforeMs), time(options.notBeforeMs + options.validMs)),
        name,
        publicInfo,
        context(3, true, sequence(...extensions(options.names, publicInfo))),
    );
    const signature = sign("sha256", toBeSigned, privateKey);
    return {
        cert: pem("CERTIFICATE", sequence(toBeSigned, algorithm, bitString(signature))),
        key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    };
}

function extensions(names: readonly string[], publicInfo: Uint8Array): Buffer[] {
    const yes = der(Tag.BOOLEAN, Buffer.from([0xff]));
    // digitalSignature and keyCertSign: bits 0 and 5, two bits unused.
    const usage = der(Tag.BIT_STRING, Buffer.from([2, 0x84]));
    const keyId = createHash("sha1").update(publicInfo).digest();
    return [
        extension(Oid.basicConstraints, sequence(yes, integer(0n)), yes),
        extension(Oid.keyUsage, usage, yes),
        extension(Oid.extendedKeyUsage, sequence(oid(Oid.serverAuth))),
        extension(Oid.subjectKeyIdentifier, der(Tag.OCTET_STRING, keyId)),
        extension(Oid.subjectAltName, sequence(...names.map(generalName))),
    ];
}

function extension(id: string, value: Uint8Array, critical: Uint8Array = Buffer.alloc(0)): Buffer {
    return sequence(oid(id), critical, der(Tag.OCTET_STRING, value));
}

/** A GeneralName (RFC 5280 section 4.2.1.6): dNSName or iPAddress. */
function generalName(name: string): Buffer {
    const version = isIP(name);
    if (version === 0) return context(2, false, Buffer.from(name, "ascii"));
    return context(7, false, version === 4 ? Buffer.from(name.split(".").map(Number)) : ipv6Bytes(name));
}

function ipv6Bytes(address: string): Buffer {
    // The platform gives the address in its canonical text; what is left is one run of zeros.
    const text = new SocketAddress({ address, family: "ipv6" }).address;
    const [head = "", tail] = text.split("::");
    const groups = (part: string): number[] => (part === "" ? [] : part.split(":").flatMap(groupValues));
    const first = groups(head);
    const last = tail === undefined ? [] : groups(tail);
    const all = [...first, ...Array<number>(8 - first.length - last.length).fill(0), ...last];
    return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]));
}

// A group, or the dotted end of an IPv4-mapped address as two.
function groupValues(group: string): number[] {
    if (!group.includes(".")) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [(a << 8) | b, (c << 8) | d];
}

function pem(label: string, bytes: Buffer): string {
    const lines = bytes.toString("base64").match(/.{1,64}/g) ?? [];
    return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}
