import { formatIp } from "@antrea/ip";
import { readIp } from "./addresses.ts";
import { type ServiceObject } from "./objects.ts";

/** The texts of a Service's ClusterIPs, `None` included; empty while it has none. */
export function clusterIpTexts({ spec }: ServiceObject): readonly string[] {
    const texts = spec?.clusterIPs ?? (spec?.clusterIP === undefined ? [] : [spec.clusterIP]);
    return texts.filter((text) => text !== "");
}

/** An address in its canonical form; other texts as they are. */
export function canonical(text: string): string {
    const read = readIp(text);
    return "ip" in read ? formatIp(read.ip) : text;
}
