/** Rules of ours in the Node's own firewall, made with iptables(8), that let the traffic of Pods and tunnels through. */
export { HostFirewall, legacyTablesHere, removeFirewallRules, type HostFirewallComponents } from "./host-firewall.ts";
export { acceptRules, type AcceptRule, type FirewallInput } from "./rules.ts";
export { linesOf, wordsOf } from "./words.ts";
