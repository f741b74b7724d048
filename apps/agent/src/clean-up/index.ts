/** What `antrea-agent clean-up` does: takes everything off a Node that the agent and its OVS have made there. */
export { cleanUp, CleanUpError, type CleanUpComponents, type CleanUpOptions } from "./clean-up.ts";
