import { pods, type Pod } from "@antrea/kube";
import { type Cluster } from "../cluster/index.ts";
import { count } from "../output/index.ts";

/** One program of Antrea and one version of it in the cluster. */
export interface ComponentVersion {
    readonly name: ComponentName;
    /** The tag of its image, or the digest if it has no tag; `latest` without both. */
    readonly version: string;
    /** The image as the Pod names it. */
    readonly image: string;
    /** How many Pods run it. */
    readonly pods: number;
}

/** The report of `antctl version`, as `-o json` prints it. */
export interface VersionReport {
    /** Of antctl. */
    readonly version: string;
    /** The versions in the cluster; absent if they were not read. */
    readonly components?: readonly ComponentVersion[];
    /** Why they could not be read. */
    readonly problem?: string;
}

type ComponentName = (typeof names)[number];

/** The labels `component` of the Pods, and the names of their containers. */
const names = ["antrea-controller", "antrea-agent", "antrea-webhook"] as const;

/**
 * The versions that run in the cluster, by the images of its Pods that have not ended; during an upgrade a program has
 * several. Rejects with KubeError.
 */
export async function componentsOf(cluster: Pick<Cluster, "list">): Promise<readonly ComponentVersion[]> {
    const images = await cluster.list(pods, imageOf, { labelSelector: "app=antrea" });
    return names.flatMap((name) => {
        const own = images.filter((one) => one.name === name);
        return [...Map.groupBy(own, ({ image }) => image)]
            .map(([image, all]) => ({ name, version: versionOf(image), image, pods: all.length }))
            .sort((a, b) => (a.image < b.image ? -1 : 1));
    });
}

/** The report of `antctl version` as text, without a final line end and without `problem`. */
export function renderVersion({ version, components }: VersionReport): string {
    const lines = (components ?? []).map((one) => `${one.name} ${one.version} (${count(one.pods, "Pod")})`);
    if (components?.length === 0) lines.push("The cluster has no Pods of Antrea.");
    return [`antctl ${version}`, ...lines].join("\n");
}

function imageOf({
    metadata,
    spec,
    status,
}: Pod): { readonly name: ComponentName; readonly image: string } | undefined {
    if (status?.phase === "Succeeded" || status?.phase === "Failed") return undefined;
    const name = names.find((one) => one === metadata?.labels?.component);
    const image = spec?.containers.find((container) => container.name === name)?.image;
    return name === undefined || image === undefined ? undefined : { name, image };
}

/** Parses `registry:5000/name:tag@digest`; a colon before a slash precedes a port. */
function versionOf(image: string): string {
    const [named = "", digest] = image.split("@");
    const [, tag] = (named.split("/").at(-1) ?? "").split(":");
    return tag ?? digest ?? "latest";
}
