/**
 * What `antrea-agent clean-up` does: takes everything off a Node that the agent and its OVS have made there, and what Antrea
 * in Go leaves, which is named the same for the most part.
 */
export { removeChains, type ChainComponents } from "./chains.ts";
export { cleanUp, type CleanUpComponents, type CleanUpOptions } from "./clean-up.ts";
