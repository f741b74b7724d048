import { type ValueTest } from "../value-tests.ts";
import { readable, readableOrEmpty, readerOf, type Leaf } from "./readable.ts";

// The limits of the kernel (IFNAMSIZ, dev_valid_name).
const interfaceRule = "must be an interface name: 1 to 15 characters without / : and spaces";
const interfaceTest = { kind: "text", match: "^[!-.0-9;-~]{1,15}$", except: "^[.]{1,2}$" } as const satisfies ValueTest;
const readInterface = readerOf(interfaceTest);

/**
 * Schema of the name of a network interface, as the kernel limits it (IFNAMSIZ, dev_valid_name), in ASCII: 1 to 15
 * characters without `/`, `:` and spaces, neither `.` nor `..`.
 */
export const interfaceName: Leaf<string> = readable(interfaceRule, readInterface, interfaceTest);

/**
 * The loopback interface, sysctl names for all interfaces, the devices of OVS datapaths, and the agent's tunnel port.
 */
const usedNames = ["lo", "all", "default", "ovs-system", "ovs-netdev", "antrea-tun0"];
const ownInterfaceTest = { ...interfaceTest, except: `${interfaceTest.except}|^(${usedNames.join("|")})$` };

/**
 * Schema of the name of an interface that antrea-agent creates: an `interfaceName` that neither the kernel, OVS nor the
 * agent itself uses (lo, all, default, ovs-system, ovs-netdev, antrea-tun0).
 */
export const ownInterfaceName: Leaf<string> = readable(
    `${interfaceRule}, and none that the kernel, Open vSwitch or antrea-agent uses: ${usedNames.join(", ")}`,
    readerOf(ownInterfaceTest),
    ownInterfaceTest,
);

/** Schema of a network interface name, or "" for undefined. */
export const interfaceNameOrEmpty: Leaf<string | undefined> = readableOrEmpty(
    `${interfaceRule}, or empty`,
    readInterface,
    interfaceTest,
);
