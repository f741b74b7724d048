import { readdir, readFile } from "node:fs/promises";
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

/** A link of a device. */
export interface DeviceLink {
    readonly name: string;
    /** Its attribute dev_port, by which the links of one device differ; "" if it has none. */
    readonly port: string;
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

    /** The links of a device that the Node has, in the order of their names. Rejects with the error of node:fs. */
    async linksOf(device: DeviceId): Promise<readonly DeviceLink[]> {
        const folder = this.folderOf(device);
        const names = await absent(readdir(folder), []);
        const ports = names.toSorted().map(async (name) => {
            const port = await absent(readFile(join(folder, name, "dev_port"), "utf8"), "");
            return { name, port: port.trim() };
        });
        return Promise.all(ports);
    }
}

/** What is read, or `none` where nothing is: a link may leave meanwhile. */
async function absent<T>(reading: Promise<T>, none: T): Promise<T> {
    try {
        return await reading;
    } catch (error) {
        if (isSystemError(error, "ENOENT", "ENOTDIR", "ENODEV", "EINVAL")) return none;
        throw error;
    }
}
