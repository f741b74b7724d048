/** Datapath features that the agent's flows require, by the names that `dpif/show-dp-features` prints. */
export const requiredFeatures = [
    "CT state",
    "CT zone",
    "CT mark",
    "CT label",
    "CT state NAT",
    "CT orig tuple",
] as const;

/**
 * Parses the output of `dpif/show-dp-features` (ovs-vswitchd(8)) to value by name: one feature per line, `NAME: Yes`,
 * `NAME: No` or `NAME: NUMBER`. Lines without a colon are skipped.
 */
export function parseFeatures(text: string): ReadonlyMap<string, string> {
    const features = new Map<string, string>();
    for (const line of text.split("\n")) {
        const colon = line.indexOf(":");
        if (colon > 0) features.set(line.slice(0, colon).trim(), line.slice(colon + 1).trim());
    }
    return features;
}

/** The names of the required features that are absent or whose value is not `Yes`; empty if the datapath suffices. */
export function missingFeatures(features: ReadonlyMap<string, string>): readonly string[] {
    return requiredFeatures.filter((name) => features.get(name) !== "Yes");
}
