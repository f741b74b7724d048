import { messageOf } from "@antrea/errors";
import type { Link, LinkChanges, Netlink } from "@antrea/netlink";
import type { Logger } from "@antrea/runtime";
import { toFunctionAlias } from "./alias.ts";
import type { KeptLink } from "./kept-link.ts";

/** A pattern of the kernel for names: it puts a free number in. */
export const anyName = "dev%d";
const numberedName = /^dev\d+$/;

/**
 * Makes a link of the Node as it was before a Pod got it, as far as the kernel does it; what it refuses is logged. True if the
 * link is as it was; else it keeps our mark, and no name that a Pod gave it. Repeated without a change it changes nothing.
 */
export async function restoreLink(
    {
        logger,
        netlink,
    }: {
        readonly logger: Logger;
        readonly netlink: Pick<Netlink, "addAltName" | "deleteAltName" | "setLink">;
    },
    link: Link,
    kept: KeptLink,
): Promise<boolean> {
    const { former } = kept;
    let isAsWas = true;
    const attempt = async (what: string, work: () => Promise<unknown>): Promise<boolean> => {
        try {
            await work();
            return true;
        } catch (error) {
            const fields = { device: kept.device.id, link: link.name, was: former.name, what };
            logger.warn("virtual function not restored yet", { ...fields, reason: messageOf(error) });
            isAsWas = false;
            return false;
        }
    };
    const change = (changes: LinkChanges): Promise<boolean> =>
        attempt(Object.keys(changes).join(), () => netlink.setLink(link.index, changes));
    const { name, mac, mtu, group, promiscuous, altNames } = former;
    const isRenamed = link.name !== name;
    // Neither name nor MAC address of a link that is up can be changed with every driver.
    const goesDown = link.up && (isRenamed || link.mac !== mac || !former.up);
    if (goesDown) await change({ up: false });
    for (const one of link.altNames.filter((known) => !altNames.includes(known)))
        await attempt(`alternative name ${one}`, () => netlink.deleteAltName(link.index, one));
    const isNamed = !isRenamed || (await change({ name }));
    // Two links of a Pod may have each other's name.
    if (!isNamed && !numberedName.test(link.name)) await change({ name: anyName });
    for (const one of altNames.filter((known) => !link.altNames.includes(known)))
        await attempt(`alternative name ${one}`, () => netlink.addAltName(link.index, one));
    if (link.mtu !== mtu) await change({ mtu });
    if (link.group !== group) await change({ group });
    if (link.promiscuous !== promiscuous) await change({ promiscuous });
    const isAddressed = link.mac === mac || (await change({ mac }));
    // What a Pod chose is not used by the Node.
    if (former.up && isNamed && isAddressed && (goesDown || !link.up)) await change({ up: true });
    const alias = isAsWas ? former.alias : toFunctionAlias(kept);
    if ((link.alias ?? "") !== alias) await change({ alias });
    return isAsWas;
}
