import { type IpPool } from "@antrea/crd";
import { addressInPrefix, formatPrefix, IpError, quote } from "@antrea/ip";

/**
 * Warnings about CIDRs whose address is not the first of its prefix (`10.61.1.7/24`): they mean the whole prefix. For a
 * spec that was read without refusals.
 */
export function hostBitWarnings({ spec }: IpPool): readonly string[] {
    return spec.ipRanges.flatMap(({ cidr }, at) => {
        const meant = cidr === undefined ? undefined : withoutHostBits(cidr);
        if (meant === undefined) return [];
        return [`spec.ipRanges[${at}].cidr ${quote(cidr)} is taken as ${meant}; did you mean that, or start and end?`];
    });
}

function withoutHostBits(cidr: string): string | undefined {
    try {
        const { ip, prefix } = addressInPrefix(cidr);
        return ip.value === prefix.base ? undefined : formatPrefix(prefix);
    } catch (error) {
        if (error instanceof IpError) return undefined;
        throw error;
    }
}
