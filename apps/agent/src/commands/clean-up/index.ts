/**
 * Implements `antrea-agent clean-up`: removes from a Node everything that the agent and its OVS have created, and what
 * upstream Antrea (Go) leaves, which mostly has the same names.
 */
export { removeChains, type ChainComponents } from "./chains.ts";
export { cleanUp, type CleanUpComponents, type CleanUpOptions } from "./clean-up.ts";
