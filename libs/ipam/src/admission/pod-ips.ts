import { podIpsAnnotation, poolsAnnotation } from "@antrea/crd";
import { formatIp, quote, type IpAddress } from "@antrea/ip";
import { readPodIps, type Annotations, type NamedPools } from "../annotations.ts";
import { allowed, refused, someOf, together, type Verdict } from "./verdict.ts";
import { type Place, type WorkloadContext } from "./workload-context.ts";

/** The verdict on the addresses that the annotation `pod-ips` asks for; `pools`: those in effect for the Pod. */
export function checkPodIps(
    annotations: Annotations,
    pools: NamedPools | undefined,
    context: WorkloadContext,
    { path: annotationsPath }: Place,
): Verdict {
    const text = annotations?.[podIpsAnnotation] ?? "";
    const path = `${annotationsPath}[${podIpsAnnotation}]`;
    const { ips, problems } = readPodIps(text);
    const malformed = problems.map((rule) => ({ path, value: text, rule }));
    if (ips.length === 0) return refused(...malformed);
    if (pools === undefined) {
        const rule = `needs an IPPool: name it in annotation ${poolsAnnotation} here or on the Namespace`;
        return refused(...malformed, { path, value: text, rule });
    }
    return together(refused(...malformed), ...ips.map((ip) => checkPodIp(ip, pools, context, path)));
}

function checkPodIp(
    ip: IpAddress,
    { names }: NamedPools,
    { pool, exclusions }: WorkloadContext,
    path: string,
): Verdict {
    const value = formatIp(ip);
    const known = names.map((name) => pool(name)).filter((found) => found !== undefined);
    const [candidate, ...others] = known.filter(({ family }) => family === ip.family);
    if (candidate === undefined) {
        const unknown = names.filter((name) => pool(name) === undefined).map((name) => quote(name));
        if (unknown.length === 0) {
            return refused({ path, value, rule: `no IPPool of ${names.join(", ")} is of IPv${ip.family}` });
        }
        const warning = `${path}: ${value} cannot be checked, IPPool ${someOf(unknown)} does not exist yet`;
        return { errors: [], warnings: [warning] };
    }
    if (others.length > 0) {
        const listed = [candidate, ...others].map(({ name }) => quote(name)).join(" and ");
        const rule = `needs exactly one IPPool of its family, and ${listed} are of IPv${ip.family}: name one`;
        return refused({ path, value, rule });
    }
    const reason = exclusions.reason(candidate, ip);
    if (reason === undefined) return allowed;
    return refused({ path, value, rule: `IPPool ${quote(candidate.name)} does not hand it out: it ${reason}` });
}
