import { parseMac } from "@antrea/ip";
import type { Attachment } from "../../platform/pod-interfaces/index.ts";

/** What the link of a virtual function was before a Pod got it. */
export interface FormerLink {
    readonly name: string;
    /** In bytes. */
    readonly mtu: number;
    /** As text. */
    readonly mac: string;
    readonly up: boolean;
    /** "" if it had none. */
    readonly alias: string;
}

/** A decoded alias: whose interface the link is, and what it was. */
export interface FunctionAlias extends Attachment {
    readonly former: FormerLink;
}

const mark = "antrea4";
const maxAliasBytes = 255;

/**
 * The alias of a virtual function that a Pod has, for `fromFunctionAlias`: words separated by spaces, at the end the
 * alias that it had, if there is room in 255 bytes (IFALIASZ, linux/if.h).
 */
export function toFunctionAlias({ containerId, ifName, former }: FunctionAlias): string {
    const { name, mtu, mac, up, alias } = former;
    const words = [mark, containerId, ifName, name, mtu, mac, up ? "up" : "down"].join(" ");
    const whole = `${words} ${alias}`;
    return alias !== "" && new TextEncoder().encode(whole).length <= maxAliasBytes ? whole : words;
}

/** Decodes the alias of a link; undefined if it is not that of a virtual function that a Pod got from this agent. */
export function fromFunctionAlias(text: string | undefined): FunctionAlias | undefined {
    const [found, containerId, ifName, name, mtu, mac = "", state, ...rest] = (text ?? "").split(" ");
    if (found !== mark || !containerId || !ifName || !name || !isMac(mac)) return undefined;
    if (mtu === undefined || !/^[1-9]\d{1,4}$/.test(mtu) || (state !== "up" && state !== "down")) return undefined;
    const former = { name, mtu: Number(mtu), mac, up: state === "up", alias: rest.join(" ") };
    return { containerId, ifName, former };
}

function isMac(text: string): boolean {
    try {
        parseMac(text);
        return true;
    } catch {
        return false;
    }
}
