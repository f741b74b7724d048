import { isJsonObject, type JsonObject } from "@antrea/cni";
import { antreaIpamType } from "./ipam-section.ts";

/** An `ipam` section of type antrea as it is written; nothing of it is checked. */
export interface OwnSection {
    /** That of its plugin, for messages: "" or `plugins[1].` */
    readonly path: string;
    readonly section: JsonObject;
}

/** The parts of a network configuration that concern this project. */
export interface OwnParts {
    /** Whether it has a plugin of type antrea. */
    readonly hasPlugin: boolean;
    /** The sections of its plugins, of whatever type, in their order. */
    readonly sections: readonly OwnSection[];
}

const pluginType = "antrea";

/**
 * Finds what concerns this project in the text of a network configuration, of one plugin or a list; undefined if it is no
 * JSON object.
 */
export function ownPartsOf(config: string): OwnParts | undefined {
    const document = parsed(config);
    if (!isJsonObject(document)) return undefined;
    const plugins = pluginsOf(document);
    return {
        // Of a list, its own type has no effect; it shows what was meant.
        hasPlugin: [document, ...plugins.map(({ plugin }) => plugin)].some(({ type }) => type === pluginType),
        sections: plugins.flatMap(({ path, plugin: { ipam } }) =>
            isJsonObject(ipam) && ipam["type"] === antreaIpamType ? [{ path, section: ipam }] : [],
        ),
    };
}

function pluginsOf(document: JsonObject): readonly { readonly path: string; readonly plugin: JsonObject }[] {
    const list: unknown = document["plugins"];
    if (!Array.isArray(list)) return [{ path: "", plugin: document }];
    return list.flatMap((plugin: unknown, index) =>
        isJsonObject(plugin) ? [{ path: `plugins[${index}].`, plugin }] : [],
    );
}

function parsed(text: string): unknown {
    try {
        return JSON.parse(text) as unknown;
    } catch {
        return undefined;
    }
}
