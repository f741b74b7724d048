const maxNameBytes = 15;

/**
 * The name of the NIC while its own name is the host port's: "eth0~". A name that leaves no room is cut, one that
 * somebody has gets a digit.
 */
export function physicalNameOf(nicName: string, isTaken: (name: string) => boolean): string {
    for (let attempt = 0; ; attempt++) {
        const suffix = attempt === 0 ? "~" : `~${attempt}`;
        const name = `${cut(nicName, maxNameBytes - suffix.length)}${suffix}`;
        if (!isTaken(name)) return name;
    }
}

/** Whether `physicalNameOf` may have made this name of that one. */
export function isPhysicalNameOf(nicName: string, physicalName: string): boolean {
    const suffix = suffixOf(physicalName);
    return suffix !== undefined && physicalName === `${cut(nicName, maxNameBytes - suffix.length)}${suffix}`;
}

/** The name that a link of such a name had, as far as it was not cut; undefined for any other link. */
export function nicNameOf(physicalName: string): string | undefined {
    const suffix = suffixOf(physicalName);
    return suffix === undefined || suffix === physicalName ? undefined : physicalName.slice(0, -suffix.length);
}

function suffixOf(physicalName: string): string | undefined {
    return /~\d*$/.exec(physicalName)?.[0];
}

/** The first bytes of a text, no character torn. */
function cut(text: string, maxBytes: number): string {
    let kept = "";
    for (const character of text) {
        if (new TextEncoder().encode(kept + character).length > maxBytes) break;
        kept += character;
    }
    return kept;
}
