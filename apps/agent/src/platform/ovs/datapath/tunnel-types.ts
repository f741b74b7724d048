import type { OvsDatabase } from "../bridge/index.ts";
import type { Datapath, TunnelType } from "./datapath.ts";
import { DatapathError } from "./errors.ts";

/**
 * The interface types that ovs-vswitchd supports, such as `geneve`: column `iface_types` of table Open_vSwitch, which
 * the session must monitor; [] until ovs-vswitchd has set it.
 */
export function interfaceTypes(database: Pick<OvsDatabase, "rows">): readonly string[] {
    const [row] = database.rows("Open_vSwitch").values();
    const types = row?.["iface_types"];
    return Array.isArray(types) ? types.map(String) : [];
}

/**
 * Waits, for at most `timeoutMs` milliseconds, until ovs-vswitchd has reported its types, then rejects a tunnel type
 * that it does not support or that the datapath cannot send. Not conclusive: a kernel without the type rejects the port
 * only when it is added.
 *
 * @throws DatapathError `NO_TUNNEL_TYPE`; OvsdbError `TIMEOUT`, `ABORTED`, `CLOSED`
 */
export async function checkTunnelType(
    database: Pick<OvsDatabase, "rows" | "until">,
    { datapath, tunnelType }: { readonly datapath: Datapath; readonly tunnelType: TunnelType },
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<void> {
    const what = "the tunnel types of ovs-vswitchd";
    const reportedTypes = (): readonly string[] | undefined => {
        const types = interfaceTypes(database);
        return types.length === 0 ? undefined : types;
    };
    const problem = tunnelTypeProblem(datapath, await database.until(reportedTypes, { ...options, what }), tunnelType);
    if (problem !== undefined) throw noTunnelType(datapath, tunnelType, problem);
}

/**
 * Why a tunnel type is not usable on this datapath of an OVS with these interface types (`interfaceTypes`), the types
 * that are, and the next step, as text for users; undefined if it is.
 */
export function tunnelTypeProblem(
    datapath: Datapath,
    types: readonly string[],
    tunnelType: TunnelType,
): string | undefined {
    const usable = datapath.tunnelTypes.filter((type) => types.includes(type));
    if (usable.includes(tunnelType)) return undefined;
    const where = types.includes(tunnelType) ? datapath.title : "this Open vSwitch";
    return `${where} has no tunnel type ${tunnelType}; it has ${inWords(usable, "and")}; ${nextStep(tunnelType)}`;
}

/**
 * Returns DatapathError `NO_TUNNEL_TYPE` for a tunnel port that OVS rejected, with the original error as its cause; the
 * message names the kernel module or another type as remedy.
 */
export function refusedTunnelPort(datapath: Datapath, tunnelType: TunnelType, cause: unknown): DatapathError {
    const what = `${datapath.title} cannot make a tunnel of type ${tunnelType}`;
    return noTunnelType(datapath, tunnelType, `${what}; ${lackOf(datapath, tunnelType)}${nextStep(tunnelType)}`, cause);
}

function lackOf(datapath: Datapath, tunnelType: TunnelType): string {
    if (datapath.type !== "system") return "";
    return tunnelType === "stt" ? "Linux has none: " : `load the kernel module ${kernelModules[tunnelType]}, or `;
}

const kernelModules = { geneve: "geneve", vxlan: "vxlan", gre: "ip_gre" } as const;

function noTunnelType(datapath: Datapath, tunnelType: TunnelType, message: string, cause?: unknown): DatapathError {
    const details = { datapathType: datapath.type, tunnelType };
    return new DatapathError("NO_TUNNEL_TYPE", "unsupported", message, { cause, details });
}

function nextStep(refused: TunnelType): string {
    const others = (["geneve", "vxlan", "gre"] as const).filter((type) => type !== refused);
    return `set tunnelType to ${inWords(others, "or")}`;
}

function inWords(names: readonly string[], last: "and" | "or"): string {
    if (names.length === 0) return "none";
    return names.length === 1 ? names.join() : `${names.slice(0, -1).join(", ")} ${last} ${names.at(-1)}`;
}
