import { CliError } from "@antrea/antctl/errors";
import { readManifest } from "@antrea/antctl/plan/manifest";
import { yamlTokens } from "../settings-target.ts";
import { type Target } from "../target.ts";

/** The file of `antctl ipam plan`. */
export const target: Target = {
    format: "text",
    maxBytes: 3_000,
    // The YAML parser's nodes are large.
    bytesPerByte: 16_384,
    seeds: () => [
        "apiVersion: crd.antrea.io/v1alpha2\nkind: IPPool\nmetadata: {name: a}\nspec:\n  ipRanges:\n  - {cidr: 10.2.0.0/24}\n" +
            "  subnetInfo: {gateway: 10.2.0.1, prefixLength: 24}\n---\nkind: ConfigMap\n",
        'kind: List\nitems: [{apiVersion: crd.antrea.io/v1alpha2, kind: IPPool, spec: [1]}, "a"]\n',
        '{"apiVersion": "crd.antrea.io/v1alpha2", "kind": "IPPool", "metadata": {"name": "a"}}',
        "kind: &a [*a]\n",
    ],
    tokens: [...yamlTokens, "apiVersion: ", "crd.antrea.io/v1alpha2", "kind: ", "IPPool", "List", "items: "],
    run: (input) => void readManifest([{ name: "-", text: new TextDecoder().decode(input) }]),
    isRefusal: (error) => error instanceof CliError && error.fault === "caller",
};
