import { createHash, createPrivateKey, generateKeyPairSync, randomBytes, sign, X509Certificate } from "node:crypto";
import { isIP, SocketAddress } from "node:net";
import { bitString, context, der, integer, oid, sequence, Tag, time } from "./der.ts";

/** An X.509 certificate with its private key, both as PEM. */
export interface Certificate {
    /** PEM. */
    readonly cert: string;
    /** PKCS #8, PEM. */
    readonly key: string;
}

/** Options of a certificate; nothing is checked, such as whether it outlives its authority. */
export interface CertificateOptions {
    /** Common name of the subject, at most 64 characters; its only attribute. */
    readonly commonName: string;
    /** Wall time in milliseconds from which it is valid. */
    readonly notBeforeMs: number;
    /** Duration of its validity in milliseconds. */
    readonly validMs: number;
}

/** Options of a serving certificate: those of every certificate, and for which names it is valid. */
export interface ServingOptions extends CertificateOptions {
    /** Subject alternative names: DNS names and IP addresses, at least one. */
    readonly names: readonly string[];
}

const Oid = {
    commonName: "2.5.4.3",
    ecdsaWithSha256: "1.2.840.10045.4.3.2",
    subjectKeyIdentifier: "2.5.29.14",
    keyUsage: "2.5.29.15",
    subjectAltName: "2.5.29.17",
    basicConstraints: "2.5.29.19",
    authorityKeyIdentifier: "2.5.29.35",
    extendedKeyUsage: "2.5.29.37",
    serverAuth: "1.3.6.1.5.5.7.3.1",
} as const;

/**
 * Creates a P-256 key and a self-signed serving certificate for it, valid for `options.names`. Clients may add it to
 * their list of authorities: it is a CA that can sign no further CA (path length 0).
 */
export function createSelfSigned(options: ServingOptions): Certificate {
    // digitalSignature and keyCertSign: bits 0 and 5, two bits unused.
    return create(options, [lastAuthority, keyUsage(2, 0x84), serverUse, subjectNames(options.names)]);
}

/**
 * Creates a P-256 key and a self-signed authority (CA) for it, for serving certificates: it can sign no further CA
 * (path length 0).
 */
export function createAuthority(options: CertificateOptions): Certificate {
    // keyCertSign: bit 5, two bits unused.
    return create(options, [lastAuthority, keyUsage(2, 0x04)]);
}

/**
 * Creates a P-256 key and a serving certificate for it, signed by an authority of `createAuthority`; of another one the
 * issuer's name may be wrong. Throws the error of node:crypto if the authority cannot be read.
 */
export function createSigned(options: ServingOptions, authority: Certificate): Certificate {
    // digitalSignature: bit 0, seven bits unused.
    const extensions = [noAuthority, keyUsage(7, 0x80), serverUse, subjectNames(options.names)];
    return create(options, extensions, authority);
}

/** Creates a P-256 key and its X.509 v3 certificate (RFC 5280 section 4.1); self-signed without `authority`. */
function create(options: CertificateOptions, extensions: readonly Buffer[], authority?: Certificate): Certificate {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const publicInfo = publicKey.export({ type: "spki", format: "der" });
    const issuer = authority === undefined ? undefined : new X509Certificate(authority.cert);
    const issuerInfo = issuer?.publicKey.export({ type: "spki", format: "der" }) ?? publicInfo;
    const algorithm = sequence(oid(Oid.ecdsaWithSha256));
    const toBeSigned = sequence(
        context(0, true, integer(2n)),
        // At most 20 octets, and not negative: an octet of 1 and 18 random ones.
        integer(BigInt(`0x01${randomBytes(18).toString("hex")}`)),
        algorithm,
        // The subject of our authorities is a single attribute, with the text CN=name.
        distinguishedName(issuer?.subject.slice("CN=".length) ?? options.commonName),
        sequence(time(options.notBeforeMs), time(options.notBeforeMs + options.validMs)),
        distinguishedName(options.commonName),
        publicInfo,
        context(3, true, sequence(...extensions, subjectKey(publicInfo), authorityKey(issuerInfo))),
    );
    const signature = sign(
        "sha256",
        toBeSigned,
        authority === undefined ? privateKey : createPrivateKey(authority.key),
    );
    return {
        cert: pem("CERTIFICATE", sequence(toBeSigned, algorithm, bitString(signature))),
        key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    };
}

function distinguishedName(commonName: string): Buffer {
    const text = der(Tag.UTF8_STRING, Buffer.from(commonName, "utf8"));
    return sequence(der(Tag.SET, sequence(oid(Oid.commonName), text)));
}

const yes = der(Tag.BOOLEAN, Buffer.from([0xff]));
const lastAuthority = extension(Oid.basicConstraints, sequence(yes, integer(0n)), yes);
const noAuthority = extension(Oid.basicConstraints, sequence(), yes);
const serverUse = extension(Oid.extendedKeyUsage, sequence(oid(Oid.serverAuth)));

function keyUsage(unusedBits: number, bits: number): Buffer {
    return extension(Oid.keyUsage, der(Tag.BIT_STRING, Buffer.from([unusedBits, bits])), yes);
}

function subjectNames(names: readonly string[]): Buffer {
    return extension(Oid.subjectAltName, sequence(...names.map(generalName)));
}

function subjectKey(publicInfo: Uint8Array): Buffer {
    return extension(Oid.subjectKeyIdentifier, der(Tag.OCTET_STRING, keyId(publicInfo)));
}

function authorityKey(publicInfo: Uint8Array): Buffer {
    return extension(Oid.authorityKeyIdentifier, sequence(context(0, false, keyId(publicInfo))));
}

function keyId(publicInfo: Uint8Array): Buffer {
    return createHash("sha1").update(publicInfo).digest();
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
    // The platform returns the canonical text, with at most one run of zeros shortened.
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
