/** The agent's rules in the Node's firewall, managed with iptables(8), that accept the traffic of Pods and tunnels. */
export { HostFirewall, type HostFirewallComponents } from "./host-firewall.ts";
export { legacyTablesHere } from "./own-rules.ts";
export { removeFirewallRules } from "./removal.ts";
export { acceptRules, type AcceptRule, type FirewallInput } from "./rules.ts";
export { linesOf, wordsOf } from "./words.ts";
