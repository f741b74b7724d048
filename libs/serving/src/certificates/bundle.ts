import { type JsonPatchOperation, type ValidatingWebhookConfiguration } from "@antrea/kube";

/**
 * Returns the CA bundle (PEM) that all webhooks of the configuration have in common; empty if they differ, or if there
 * is none.
 */
export function commonBundle(configuration: ValidatingWebhookConfiguration): string {
    const bundles = new Set(configuration.webhooks?.map(({ clientConfig }) => clientConfig.caBundle ?? ""));
    const [bundle = "", ...others] = bundles;
    return others.length > 0 ? "" : Buffer.from(bundle, "base64").toString("utf8");
}

/**
 * Returns the CA bundles (PEM) of all webhooks of the configuration, concatenated, with repetitions; blank if there are
 * none.
 */
export function allBundles(configuration: ValidatingWebhookConfiguration): string {
    const bundles = configuration.webhooks?.map(({ clientConfig }) => clientConfig.caBundle ?? "") ?? [];
    return bundles.map((bundle) => Buffer.from(bundle, "base64").toString("utf8")).join("\n");
}

/**
 * Returns a JSON patch (RFC 6902) that sets this bundle (PEM) on every webhook. The API server rejects it as INVALID if
 * the resourceVersion has changed.
 */
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
