const maxNameBytes = 15;

/**
 * The name of the NIC while the host port has its name: "eth0~". A name that is too long (15 bytes, IFNAMSIZ) is
 * truncated, one that is in use gets a digit.
 */
export function physicalNameOf(nicName: string, isTaken: (name: string) => boolean): string {
    for (let attempt = 0; ; attempt++) {
        const suffix = attempt === 0 ? "~" : `~${attempt}`;
        const name = `${cut(nicName, maxNameBytes - suffix.length)}${suffix}`;
        if (!isTaken(name)) return name;
    }
}

/** Whether `physicalNameOf` may have derived this name from the NIC name. */
export function isPhysicalNameOf(nicName: string, physicalName: string): boolean {
    const suffix = suffixOf(physicalName);
    return suffix !== undefined && physicalName === `${cut(nicName, maxNameBytes - suffix.length)}${suffix}`;
}

/**
 * The original name of a link with such a name, as far as it was not truncated ("eth0" of "eth0~1"); undefined for any
 * other link.
 */
export function nicNameOf(physicalName: string): string | undefined {
    const suffix = suffixOf(physicalName);
    return suffix === undefined || suffix === physicalName ? undefined : physicalName.slice(0, -suffix.length);
}

function suffixOf(physicalName: string): string | undefined {
    return /~\d*$/.exec(physicalName)?.[0];
}

/** Truncates a text to a number of bytes at a character boundary. */
function cut(text: string, maxBytes: number): string {
    let kept = "";
    for (const character of text) {
        if (new TextEncoder().encode(kept + character).length > maxBytes) break;
        kept += character;
    }
    return kept;
}
