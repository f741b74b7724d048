import { expect } from "@jest/globals";
import { SettingsError } from "../src/errors.ts";

/** A settings file (JSON is YAML) with `value` at a dotted key, and `rest` around it. */
export function fileWith(key: string, value: unknown, rest: Readonly<Record<string, unknown>> = {}): string {
    const root: Record<string, unknown> = { ...rest };
    const steps = key.split(".");
    let level = root;
    for (const step of steps.slice(0, -1))
        level = level[step] = { ...(level[step] as object | undefined) } as typeof root;
    level[steps.at(-1) ?? ""] = value;
    return JSON.stringify(root);
}

/** The error that `load` throws. */
export function errorOf(load: () => unknown): SettingsError {
    try {
        load();
    } catch (error) {
        expect(error).toBeInstanceOf(SettingsError);
        return error as SettingsError;
    }
    throw new Error("it was accepted");
}

/** One `key: value: rule` a finding. */
export function findingsOf(load: () => unknown): readonly string[] {
    const { findings = [] } = errorOf(load).details;
    return findings.map(({ key, value, rule }) => `${key}: ${value}: ${rule}`);
}

/** The known keys that are no groups: those that no other known key lies in. */
export function leavesOf(keys: readonly string[]): readonly string[] {
    return keys.filter((key) => !keys.some((other) => other.startsWith(`${key}.`) || other.startsWith(`${key}[]`)));
}

export const rules = {
    flag: "must be true or false",
    text: "must be text",
    port: "must be a whole number from 1 to 65535",
    path: "must be an absolute path",
    interface: "must be an interface name: 1 to 15 characters without / : and spaces",
    ownInterface:
        "must be an interface name: 1 to 15 characters without / : and spaces, and none that the kernel, Open vSwitch or antrea-agent uses: lo, all, default, ovs-system, ovs-netdev, antrea-tun0",
    interfaceOrEmpty: "must be an interface name: 1 to 15 characters without / : and spaces, or empty",
    list: "must be a list",
    cidr: "must be a CIDR",
    qps: "must be a number of at least 0",
    million: "must be a whole number from 0 to 1000000",
    poll: "must be a duration of at least 1s, such as 1m30s",
    duration: "must be a duration of at least 0s, such as 1m30s",
    check: "must be a duration from 1s to 10m, such as 1m30s",
    collector: "must be HOST[:PORT][:PROTO] with PROTO one of grpc, tls, tcp, udp",
    server: "must be a host, host:port or http(s) URL, or empty",
    ciphers:
        "must be names of TLS cipher suites separated by commas, " +
        "such as TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, or empty",
    version: "must be one of VersionTLS10, VersionTLS11, VersionTLS12, VersionTLS13, or empty",
} as const;

/** A wrong value and its rule; `named` is what the finding names, if that is a part of the value. */
export type WrongRow = readonly [
    key: string,
    value: unknown,
    rule: string,
    named?: readonly [key: string, value: unknown],
];

/** The rows with the one line that each shall give. */
export function withFinding(rows: readonly WrongRow[]): [key: string, value: unknown, finding: string][] {
    return rows.map(([key, value, rule, named]) => {
        const [namedKey, namedValue] = named ?? [key, value];
        return [key, value, `${namedKey}: ${JSON.stringify(namedValue)}: ${rule}`];
    });
}

/** The wrong values of a group clientConnection. */
export function clientConnectionRows(group: string): readonly WrongRow[] {
    return [
        [`${group}.kubeconfig`, 1, rules.text],
        [`${group}.acceptContentTypes`, [], rules.text],
        [`${group}.contentType`, true, rules.text],
        [`${group}.qps`, -1, rules.qps],
        [`${group}.burst`, 1.5, rules.million],
    ];
}
