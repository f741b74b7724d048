import { ipRange } from "@antrea/crd/schema";
import { parseIp, type Family } from "@antrea/ip";
import { type Refusal } from "@antrea/ipam";
import { fieldsOf, textOf, unknownKeys, type Fields } from "../manifest-objects.ts";

const subnetKeys = ["gateway", "prefixLength", "vlan"] as const;
const rangeKeys = Object.keys(ipRange.shape).filter((key) => !subnetKeys.some((one) => one === key));

/**
 * The spec of a v1beta1 IPPool in v1alpha2 form. If there are `refusals`, the reasons why it cannot be converted, the
 * spec is not usable.
 */
export interface SubnetInfoResult {
    readonly spec: Fields;
    readonly refusals: readonly Refusal[];
}

/**
 * Copies `subnetInfo`, the one subnet of a v1beta1 pool, into each of its ranges; the family of its gateway becomes the
 * pool's `ipVersion`. Unknown fields and a missing or unreadable subnet are refused. Ranges are not validated here:
 * v1alpha2 has the same rules for them.
 */
export function withoutSubnetInfo(spec: Fields): SubnetInfoResult {
    const subnet = fieldsOf(spec.subnetInfo);
    const ranges = Array.isArray(spec.ipRanges) ? spec.ipRanges.map(fieldsOf) : [];
    const refusals: Refusal[] = [
        ...unknownKeys("spec.", spec, ["ipRanges", "subnetInfo"]),
        ...unknownKeys("spec.subnetInfo.", subnet, subnetKeys),
        ...ranges.flatMap((range, at) => unknownKeys(`spec.ipRanges[${at}].`, range, rangeKeys)),
    ];
    if (spec.subnetInfo === undefined) {
        refusals.push(
            refusal("spec.subnetInfo", undefined, "must be set; it has gateway and prefixLength of all ranges"),
        );
    } else {
        if (familyOf(subnet.gateway) === undefined) {
            refusals.push(refusal("spec.subnetInfo.gateway", subnet.gateway, "must be an address such as 10.2.0.1"));
        }
        if (!Number.isInteger(subnet.prefixLength)) {
            refusals.push(refusal("spec.subnetInfo.prefixLength", subnet.prefixLength, "must be a whole number"));
        }
    }
    return {
        spec: { ipVersion: familyOf(subnet.gateway), ipRanges: ranges.map((range) => ({ ...range, ...subnet })) },
        refusals,
    };
}

/**
 * Maps a refusal of the converted pool to the field of the original: `spec.ipRanges[0].gateway` to
 * `spec.subnetInfo.gateway`. Other paths are the same in both.
 */
export function asGiven({ path, value, rule }: Refusal): Refusal {
    return {
        path: path.replace(/^spec\.ipRanges\[\d+\]\.(gateway|prefixLength|vlan)$/, "spec.subnetInfo.$1"),
        value,
        rule,
    };
}

function familyOf(gateway: unknown): Family | undefined {
    try {
        return typeof gateway === "string" ? parseIp(gateway).family : undefined;
    } catch {
        return undefined;
    }
}

function refusal(path: string, value: unknown, rule: string): Refusal {
    return { path, value: value === undefined ? "" : textOf(value), rule };
}
