import { loadAgentConfig } from "@antrea/settings";
import { fileText } from "../fixture.ts";
import { settingsTarget } from "../settings-target.ts";

/** The agent's settings file. */
export const target = settingsTarget(loadAgentConfig, () => fileText("charts/antrea/conf/antrea-agent.conf"), [
    "trafficEncapMode: noEncap\nfeatureGates: {AntreaIPAM: true}\nnoSNAT: true\n",
    "wireGuard: {port: 51820}\ntunnelType: geneve\ntransportInterfaceCIDRs: [10.0.0.0/8]\n",
    "secondaryNetwork: {ovsBridges: [{bridgeName: b, physicalInterfaces: [eth1]}]}\n",
]);
