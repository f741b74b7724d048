import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isSystemError } from "@antrea/errors";
import type { DeviceId } from "../../platform/pod-interfaces/index.ts";

const pciAddress = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/i;
const auxiliaryName = /^[\w-]+(?:\.[\w-]+)*$/;

/**
 * The device that a device plugin names: by a PCI address, as 0000:af:06.0, or by a name on the auxiliary bus, as
 * mlx5_core.sf.4. Undefined for a name that is neither.
 */
export function deviceOf(id: string): DeviceId | undefined {
    if (pciAddress.test(id)) return { bus: "pci", id };
    return auxiliaryName.test(id) ? { bus: "auxiliary", id } : undefined;
}

/** Finds the links of devices in sysfs, which shows those of the Node's network namespace only. */
export class DeviceLinks {
    readonly #root: string;

    constructor(options: { readonly root: string }) {
        this.#root = options.root;
    }

    /** The folder that names the links of a device. */
    folderOf({ bus, id }: DeviceId): string {
        return join(this.#root, "bus", bus, "devices", id, "net");
    }

    /** The name of the first link of a device in sorted order; undefined if the Node has none. Rejects with the error of node:fs. */
    async nameOf(device: DeviceId): Promise<string | undefined> {
        try {
            const names = await readdir(this.folderOf(device));
            return names.toSorted()[0];
        } catch (error) {
            if (isSystemError(error) && (error.code === "ENOENT" || error.code === "ENOTDIR")) return undefined;
            throw error;
        }
    }
}
