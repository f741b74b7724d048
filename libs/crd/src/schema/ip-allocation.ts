import { z } from "zod";
import { described, type Rule } from "./cel.ts";

// Namespaces are DNS labels, names DNS subdomains; a UID is one of the API server's (36 characters) or a static Pod's
// (32); an interface is named within IFNAMSIZ.
const namespace = (description: string): z.ZodString => z.string().max(63).meta(described(description));
const name = (description: string): z.ZodString => z.string().max(253).meta(described(description));
const interfaceName = (description: string): z.ZodString => z.string().max(15).meta(described(description));
const uid = (description: string): z.ZodString => z.string().max(128).meta(described(description));

/**
 * Schema of `spec.owner` of an IPAllocation: the object for which the address is kept. Which fields a kind needs is a
 * rule of `ipAllocationSpec`.
 */
export const allocationOwner = z.object({
    kind: z
        .enum(["Pod", "StatefulSet", "Node", "Gateway"])
        .meta(described("Kind of the owner; Gateway: the address is the gateway of an IPPool.")),
    namespace: namespace("Namespace of the owner; absent for a Node and a gateway.").optional(),
    name: name("Name of the owner; of a gateway its address.").optional(),
    uid: uid("UID of the owner.").optional(),
    index: z.int().min(0).optional().meta(described("Ordinal of the Pod in its StatefulSet.")),
    interface: interfaceName(
        "Interface of the ordinal's Pods for which the address is kept; absent for their interface on the Pod network.",
    ).optional(),
});

/** Schema of `spec.pod` of an IPAllocation: the Pod that uses the address, and its interface. */
export const allocationPod = z.object({
    namespace: namespace("Namespace of the Pod."),
    name: name("Name of the Pod."),
    uid: uid("UID of the Pod."),
    nodeName: name("The Node it runs on."),
    containerID: z.string().max(253).meta(described("ID of its sandbox.")),
    interface: interfaceName("Interface in the Pod that has the address."),
    network: z
        .string()
        .max(317)
        .optional()
        .meta(
            described(
                "Network of that interface: namespace/name of its NetworkAttachmentDefinition, or the name of the CNI " +
                    "network if another plugin makes it; absent for the Pod network.",
            ),
        ),
});

// As with pools, each rule first tests that the fields it reads exist: a stored allocation may lack any of them.
const hasKind = "has(self.owner) && has(self.owner.kind)";

const specRules: readonly Rule[] = [
    {
        rule: "!has(self.state) || (self.state == 'Allocated') == has(self.pod)",
        message: "pod must be set exactly when state is Allocated",
        fieldPath: ".state",
    },
    {
        rule:
            "!has(self.address) || !has(self.block) || isIP(self.address) && isCIDR(self.block) && string(cidr(self.block)) == self.block && cidr(self.block) == cidr(self.block).masked() && " +
            "cidr(self.block).containsIP(self.address) && " +
            "cidr(self.block).prefixLength() == (ip(self.address).family() == 4 ? 24 : 120)",
        messageExpression:
            "self.block + ' is not the aligned /24 (IPv4) or /120 (IPv6) that ' + self.address + ' lies in'",
        fieldPath: ".block",
    },
    {
        rule:
            `!(${hasKind}) || (self.owner.kind in ['Node', 'Gateway'] ? has(self.owner.name) : ` +
            "has(self.owner.__namespace__) && has(self.owner.name) && " +
            "(self.owner.kind == 'Pod' ? has(self.owner.uid) : has(self.owner.index)))",
        message:
            "a Pod has namespace, name and uid; a StatefulSet namespace, name and index; a Node and a Gateway a name",
        fieldPath: ".owner",
    },
    {
        rule:
            `!(${hasKind}) || !has(self.pod) || (self.owner.kind == 'Pod' ` +
            "? has(self.owner.uid) && has(self.pod.uid) && self.owner.uid == self.pod.uid " +
            ": self.owner.kind == 'StatefulSet' && has(self.owner.__namespace__) && has(self.owner.name) && " +
            "has(self.owner.index) && has(self.pod.__namespace__) && has(self.pod.name) && " +
            "self.owner.__namespace__ == self.pod.__namespace__ && " +
            "self.pod.name == '%s-%d'.format([self.owner.name, self.owner.index]))",
        message: "must be the Pod that owns the address, or a Pod of the StatefulSet that owns it",
        fieldPath: ".pod",
    },
];

// An agent that does not know of interfaces must not give the address to another one.
const interfaceRule: Rule = {
    rule: "!has(self.owner) || !has(self.owner.interface) || !has(self.pod) || has(self.pod.interface) && self.owner.interface == self.pod.interface",
    message: "must be the interface for which the owner keeps the address",
    fieldPath: ".pod",
};

const versionRule: Rule = {
    rule: "has(self.poolUID) == has(self.poolGeneration)",
    message: "poolUID and poolGeneration must be set together",
    fieldPath: ".poolUID",
};

const immutable: Rule = {
    rule: "self == oldSelf",
    message: "cannot be changed; an allocation is of one address of one pool",
};

/**
 * Schema of `spec` of an IPAllocation. Its rules are CEL in the metadata (`x-kubernetes-validations`): the API server
 * checks them, zod does not.
 */
export const ipAllocationSpec = z
    .object({
        address: z
            .string()
            .max(39)
            .meta(
                described(
                    "The address, in canonical text (RFC 5952).",
                    {
                        rule: "isIP(self) && ip.isCanonical(self)",
                        message: "must be an address in canonical text, such as 10.2.0.12 or 3ffe:ffff::100",
                    },
                    immutable,
                ),
            ),
        block: z
            .string()
            .max(43)
            .meta(described("The aligned /24 (IPv4) or /120 (IPv6) block that it lies in.", immutable)),
        pool: z.string().min(1).max(253).meta(described("The IPPool it was taken from.", immutable)),
        // Written by the agent when it sets the container; absent in objects of earlier versions.
        poolUID: uid("UID of the IPPool by whose definition the Pod's interface was set up.").optional(),
        poolGeneration: z
            .int()
            .min(1)
            .optional()
            .meta(described("Generation of the IPPool by whose definition the Pod's interface was set up.")),
        state: z
            .enum(["Allocated", "Reserved"])
            .meta(described("Allocated: a Pod uses it. Reserved: held for its owner, no Pod uses it now.")),
        owner: allocationOwner.meta(described("Who the address is kept for.")),
        pod: allocationPod.optional().meta(described("The Pod that uses it; exactly when Allocated.")),
    })
    .meta(described("The address and its owner.", ...specRules, interfaceRule, versionRule));

/**
 * Validation rule of the whole IPAllocation: its name must be the one of its address (`allocationName`). The name acts
 * as the lock: under another name, an address could be allocated twice.
 */
export const allocationNameRule: Rule = {
    rule:
        "!has(self.spec) || !has(self.spec.address) || isIP(self.spec.address) && (self.metadata.name == self.spec.address || " +
        "(self.metadata.name.matches('^(0|[1-9a-f][0-9a-f]{0,3})(-(0|[1-9a-f][0-9a-f]{0,3})){7}$') && " +
        "ip(self.metadata.name.replace('-', ':')) == ip(self.spec.address)))",
    messageExpression:
        "'metadata.name ' + self.metadata.name + ' is not the name of an allocation of ' + self.spec.address + " +
        "': must be the IPv4 address, or the IPv6 address as eight groups without leading zeros, joined by -'",
    fieldPath: ".spec.address",
};
