import { formatPrefix, quote } from "@antrea/ip";
import { type PoolSubnet } from "../pool.ts";

/** Returns a warning for each CIDR with host bits (`masked` is set: `10.61.1.7/24`), which means the whole prefix. */
export function hostBitWarnings(ranges: readonly Pick<PoolSubnet, "path" | "masked">[]): readonly string[] {
    return ranges.flatMap(({ path, masked }) =>
        masked === undefined
            ? []
            : [
                  `${path}.cidr ${quote(masked.written)} is taken as ${formatPrefix(masked.prefix)}; did you mean that, or start and end?`,
              ],
    );
}
