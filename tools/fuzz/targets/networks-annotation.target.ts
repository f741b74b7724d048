import { formatIp } from "@antrea/ip";
import { ifnameFault } from "@antrea/cni";
import { isErrorOf } from "@antrea/errors";
import { maxNetworks, mayHaveInterface, NetworkError, parseSelections, type NetworkSelection } from "@antrea/networks";
import { json } from "../fixture.ts";
import { BrokenProperty, mustEqual, type Target } from "../target.ts";

const namespace = "shop";
const full = {
    name: "vlan100",
    namespace: "networks",
    interface: "eth7",
    mac: "02:00:00:00:00:01",
    ips: ["10.10.1.5", "10.10.1.6/24", "fd00::5/64"],
    "default-route": ["10.10.1.1", "fd00::1"],
    "cni-args": { a: 1 },
};

/** The annotation by which a Pod requests networks, in both of its forms. */
export const target: Target = {
    // Large enough for values that overflow a stack.
    maxBytes: 40_000,
    format: "json",
    seeds: () => [
        "vlan100",
        " vlan100 , networks/vlan200@eth200,macnet@net1 ",
        "eth1@eth1,a,b@eth2,c",
        json([full]),
        json([{ name: "vlan100" }, { name: "vlan100" }, { ...full, mac: "0A-00-00-00-00-02", interface: undefined }]),
        json([{ name: "a", interface: "eth0" }]),
        json([
            { name: "a", "default-route": ["10.0.0.1"] },
            { name: "b", "default-route": ["10.0.0.2", "fd00::1"] },
        ]),
        json([{ name: "a", namespace: null, interface: null, mac: null, ips: null }]),
        json({ name: "vlan100" }),
        json(Array.from({ length: maxNetworks }, (_, at) => ({ name: `n${at}` }))),
        json(Array.from({ length: maxNetworks + 1 }, (_, at) => ({ name: `n${at}`, interface: `eth${at + 1}` }))),
        // Long lists: no check may take quadratic time.
        Array.from({ length: 5_000 }, (_, at) => `n${at}@i${at}`).join(),
        "[]",
        "",
    ],
    tokens: ["eth0", "eth1", "lo", "net1", "@", "/", ",", "default-route", "ff:ff:ff:ff:ff:ff", "::ffff:10.0.0.1"],
    run: (input) => {
        const text = new TextDecoder().decode(input);
        let selections: readonly NetworkSelection[];
        try {
            selections = parseSelections(text, namespace);
        } catch (error) {
            // An annotation that is wrong now may be right soon.
            if (error instanceof NetworkError && !mayHaveInterface(text, namespace, "eth1")) {
                throw new BrokenProperty("an annotation that breaks a rule excludes an interface", { cause: error });
            }
            throw error;
        }
        check(selections);
        for (const name of ["eth0", "lo", ...selections.map(({ interfaceName }) => interfaceName)]) {
            const isRequested = selections.some(({ interfaceName }) => interfaceName === name);
            if (mayHaveInterface(text, namespace, name) !== isRequested) {
                throw new BrokenProperty(`whether it may have ${name}: ${!isRequested}`);
            }
        }
        const again = parseSelections(json(selections.map(elementOf)), namespace);
        mustEqual(
            "the selections with all names, written and read",
            again,
            selections.map((selection) => ({ ...selection, ignored: [] })),
        );
    },
    isRefusal: (error) => isErrorOf(NetworkError, error, "INVALID_SELECTION"),
};

function check(selections: readonly NetworkSelection[]): void {
    if (selections.length > maxNetworks) throw new BrokenProperty(`${selections.length} networks`);
    const names = selections.map(({ interfaceName }) => interfaceName);
    const wrong = names.find((name) => name === "eth0" || name === "lo" || ifnameFault(name) !== undefined);
    if (wrong !== undefined) throw new BrokenProperty(`interface ${wrong}`);
    unique("interfaces", names);
    unique(
        "MAC addresses",
        selections.flatMap(({ mac }) => mac ?? []),
    );
    unique(
        "families of default routes",
        selections.flatMap(({ defaultRoute }) => defaultRoute.map(({ family }) => family)),
    );
}

function unique(what: string, values: readonly unknown[]): void {
    if (new Set(values).size !== values.length) throw new BrokenProperty(`${what} are repeated: ${json(values)}`);
}

function elementOf({ namespace: of, name, interfaceName, mac, ips, defaultRoute }: NetworkSelection): unknown {
    return {
        namespace: of,
        name,
        interface: interfaceName,
        mac,
        ips: ips.map(({ ip, prefixLength }) => formatIp(ip) + (prefixLength === undefined ? "" : `/${prefixLength}`)),
        "default-route": defaultRoute.map((ip) => formatIp(ip)),
    };
}
