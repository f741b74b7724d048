import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isSystemError } from "@antrea/errors";
import { journalFile } from "./journal.ts";

/** Below the folder of the agent's state: a folder for each NIC of the secondary bridge that has a journal. */
const folderOfNics = "nics";

/** The folder of the journal of a NIC of the secondary bridge; that of bridging mode is in `stateFolder` itself. */
export function nicFolder(stateFolder: string, nic: string): string {
    return join(stateFolder, folderOfNics, nic);
}

/** The names of the NICs of the secondary bridge that have a journal, in order. Throws the error of node:fs. */
export function movedNics(stateFolder: string): readonly string[] {
    try {
        const names = readdirSync(join(stateFolder, folderOfNics));
        return names.filter((nic) => existsSync(join(nicFolder(stateFolder, nic), journalFile))).sort();
    } catch (error) {
        if (isSystemError(error, "ENOENT")) return [];
        throw error;
    }
}
