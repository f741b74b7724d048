import { loadControllerConfig } from "@antrea/settings";
import { fileText } from "../fixture.ts";
import { settingsTarget } from "../settings-target.ts";

/** The controller's settings file. */
export const target = settingsTarget(
    loadControllerConfig,
    () => fileText("charts/antrea/conf/antrea-controller.conf"),
    [
        'nodeIPAM: {enableNodeIPAM: true, clusterCIDRs: [10.0.0.0/16, "fd00::/48"], nodeCIDRMaskSizeIPv4: 24}',
        "apiPort: 10349\nclientCAFile: x\nfeatureGates: {AntreaIPAM: true}\n",
        "nodeIPAM:\n  serviceCIDR: 10.96.0.0/12\n  serviceCIDRv6: fd01::/108\n",
    ],
);
