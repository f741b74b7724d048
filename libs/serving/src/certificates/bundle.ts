import { type JsonPatchOperation, type ValidatingWebhookConfiguration } from "@antrea/kube";

/** The bundle that clients use for every webhook of the configuration, PEM; empty when they differ or have none. */
export function commonBundle(configuration: ValidatingWebhookConfiguration): string {
    const bundles = new Set(configuration.webhooks?.map(({ clientConfig }) => clientConfig.caBundle ?? ""));
    const [bundle = "", ...others] = bundles;
    return others.length > 0 ? "" : Buffer.from(bundle, "base64").toString("utf8");
}

/** All bundles of the configuration, one after the other. */
export function allBundles(configuration: ValidatingWebhookConfiguration): string {
    const bundles = configuration.webhooks?.map(({ clientConfig }) => clientConfig.caBundle ?? "") ?? [];
    return bundles.map((bundle) => Buffer.from(bundle, "base64").toString("utf8")).join("\n");
}

/** What gives every webhook this bundle; holds only for this very state of the configuration. */
export function bundlePatch(
    configuration: ValidatingWebhookConfiguration,
    bundle: string,
): readonly JsonPatchOperation[] {
    const value = Buffer.from(bundle, "utf8").toString("base64");
    const test = {
        op: "test",
        path: "/metadata/resourceVersion",
        value: configuration.metadata?.resourceVersion,
    } as const;
    const webhooks = configuration.webhooks ?? [];
    return [
        test,
        ...webhooks.map(
            (_, index) => ({ op: "add", path: `/webhooks/${index}/clientConfig/caBundle`, value }) as const,
        ),
    ];
}
