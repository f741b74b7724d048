import { isIP } from "node:net";
import { bindTest, serverTest, serviceTest } from "../value-tests.ts";
import { readable, readableOrEmpty, readerOf, type Leaf } from "./readable.ts";

/**
 * Schema of an API server: `host`, `host:port` (an IPv6 address without port may lack its brackets) or an http or https
 * URL without path. The result is `scheme://host:port`, by default https and 443 (http: 80); undefined for "".
 */
export const apiServer: Leaf<string | undefined> = readableOrEmpty(
    "must be a host, host:port or http(s) URL, or empty",
    (text) => {
        const [, scheme = "https", rest = ""] = /^(?:(https?):\/\/)?(.*)$/.exec(text) ?? [];
        const plain = rest.replace(/\/$/, "");
        const usual = scheme === "http" ? 80 : 443;
        if (isIP(plain) === 6) return `${scheme}://[${plain}]:${usual}`;
        const [, host = "", given] = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(?::(\d{1,5}))?$/.exec(plain) ?? [];
        const number = given === undefined ? usual : Number(given);
        if (number < 1 || number > 65_535 || !isHost(host)) return undefined;
        return `${scheme}://${host}:${number}`;
    },
    serverTest,
);

function isHost(host: string): boolean {
    if (host.startsWith("[")) return isIP(host.slice(1, -1)) === 6;
    if (/^[0-9.]+$/.test(host)) return isIP(host) === 4;
    return host.length <= 253 && host.split(".").every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/i.test(label));
}

/**
 * Schema of a DNS server `IP`, `IPv4:port` or `[IPv6]:port`; the result always has the port, by default 53. Undefined
 * for "".
 */
export const dnsServer: Leaf<string | undefined> = readableOrEmpty(
    "must be an IP address with or without port, or empty",
    (text) => {
        if (isIP(text) === 4) return `${text}:53`;
        if (isIP(text) === 6) return `[${text}]:53`;
        const [, v6, v4, number] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
        if (isIP(v6 ?? "") !== 6 && isIP(v4 ?? "") !== 4) return undefined;
        return Number(number) >= 1 && Number(number) <= 65_535 ? text : undefined;
    },
);

/** Schema of an address to listen at, `IPv4:port` or `[IPv6]:port`; "" gives `usual`. */
export function bindAddress(usual: string): Leaf<string> {
    return readable(
        "must be an IP address with a port, such as 0.0.0.0:10256, or empty",
        (text) => {
            if (text === "") return usual;
            const [, v6, v4, number] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text) ?? [];
            if (isIP(v6 ?? "") !== 6 && isIP(v4 ?? "") !== 4) return undefined;
            return Number(number) >= 1 && Number(number) <= 65_535 ? text : undefined;
        },
        bindTest,
    );
}

/** Schema of a Service: `namespace/name` or an IP address. */
export const serviceOrAddress: Leaf<string> = readable(
    "must be namespace/name of a Service or an IP address",
    readerOf(serviceTest),
    serviceTest,
);
