import { registerHooks } from "node:module";

/**
 * What sets up a Pod's end in the kernel is replaced for this process (machine/pod-end.ts); all else is the product's
 * own code. To be imported before it.
 */
const replaced = {
    by: new URL("./machine/pod-end.ts", import.meta.url).href,
    in: "/apps/agent/src/pod-network/link.ts",
};

registerHooks({
    resolve: (specifier, context, next) =>
        specifier === "@antrea/netlink" && context.parentURL?.endsWith(replaced.in) === true
            ? { url: replaced.by, format: "module-typescript", shortCircuit: true }
            : next(specifier, context),
});
