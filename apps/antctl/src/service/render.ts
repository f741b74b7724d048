import { type Scope } from "@antrea/services";
import { age, count, fields, oneLine, someOf, table, titled, type Style } from "../output/index.ts";
import { flowTable, renderOvs } from "./render-ovs.ts";
import { type EndpointReport, type NodesReport, type PortReport, type ServiceReport } from "./report.ts";

/** Maximum endpoints of a Node in a table; `-o json` and `-o yaml` print all. */
const mostRows = 50;

/** The report of `antctl service` as text, without a final line end; with the flows of OVS if it is about one Node. */
export function renderService(report: ServiceReport, style: Style, nowMs: number): string {
    const { service, type, affinitySeconds, assumptions, nodes, nodeProblems } = report;
    const head = fields(
        [
            ["Service", service],
            ["Type", type],
            ["Internal policy", report.internalTrafficPolicy],
            ["External policy", report.externalTrafficPolicy],
            ...(affinitySeconds === undefined ? [] : [["Affinity", `ClientIP, ${affinitySeconds} s`] as const]),
        ],
        style,
    );
    const isOne = nodes.length === 1 && nodes[0]?.nodes.length === 1;
    const notes = assumptions.map((text) => style.warn(text));
    const reported = nodeProblems.map(
        ({ node, reason, text, time }) => `${node}, ${age(time, nowMs)} ago: ${reason}: ${oneLine(text)}`,
    );
    return [
        head,
        ...notes,
        ...nodes.map((each) => renderNodes(each, report, isOne, style)),
        ...titled("Reported by Nodes", reported, style),
    ].join("\n\n");
}

function renderNodes(report: NodesReport, service: ServiceReport, withFlows: boolean, style: Style): string {
    const { nodes, ports, problems, unserved, unusedSlices, ovs, healthCheck } = report;
    const names = someOf(nodes, 8);
    const title = style.bold(nodes.length === 1 ? `On Node ${names}` : `On ${count(nodes.length, "Node")}: ${names}`);
    const sections = [
        ports.length === 0 ? style.warn("AntreaProxy serves nothing of it.") : addressTable(ports, style),
        ...(ports.some(({ endpoints }) => endpoints.length > 0) ? [endpointTable(ports, service, style)] : []),
        ...(healthCheck === undefined
            ? []
            : [
                  `Port ${healthCheck.port} for health checks of load balancers: ` +
                      `${count(healthCheck.localEndpoints, "endpoint")} on each of these Nodes.`,
              ]),
        ...titled(
            "EndpointSlices that are not used",
            unusedSlices.map(({ slice, endpoints, text }) => `${slice} (${count(endpoints, "endpoint")}) ${text}`),
            style,
        ),
        ...titled(
            "Left to others",
            unserved.map(({ field, value, reason }) => `${field}: ${oneLine(value)} ${reason}`),
            style,
        ),
        ...titled("Problems", problems.map(oneLine), style),
        renderOvs(ovs, style),
        ...(withFlows ? ovs.flatMap((each) => flowTable(each, style)) : []),
    ];
    return [title, ...sections].join("\n\n");
}

interface AddressRow {
    readonly address: string;
    readonly port: string;
    readonly kind: string;
    readonly endpoints: string;
}

const kinds = { cluster: "ClusterIP", external: "externalIP", loadBalancer: "load balancer" } as const;

function addressTable(ports: readonly PortReport[], style: Style): string {
    const rows = ports.flatMap((port): readonly AddressRow[] => {
        const { addresses, nodePort, protocol, ipVersion } = port;
        const own = addresses.map((one) => ({
            address: one.address,
            port: `${protocol} ${port.port}${nameOf(port)}`,
            kind: kinds[one.kind],
            endpoints: choiceText(port, one),
        }));
        if (nodePort === undefined) return own;
        const place = { address: `Node, IPv${ipVersion}`, port: `${protocol} ${nodePort.port}${nameOf(port)}` };
        return [...own, { ...place, kind: "NodePort", endpoints: choiceText(port, nodePort) }];
    });
    return table(
        [
            { title: "ADDRESS", value: (row) => row.address },
            { title: "PORT", value: (row) => row.port },
            { title: "KIND", value: (row) => row.kind },
            { title: "ENDPOINTS", value: (row) => row.endpoints },
        ],
        rows,
        style,
    );
}

function nameOf({ name }: Pick<PortReport, "name">): string {
    return name === "" ? "" : ` (${name})`;
}

function choiceText(port: PortReport, scopes: { readonly inside: Scope; readonly outside?: Scope }): string {
    const { inside, outside = inside } = scopes;
    if (inside === outside) return chosenText(port, inside);
    return `${chosenText(port, inside)} for Nodes and Pods, ${chosenText(port, outside)} for others`;
}

function chosenText({ endpoints }: PortReport, scope: Scope): string {
    const chosenIn = (each: Scope): number => endpoints.filter((one) => isChosen(one, each)).length;
    const chosen = chosenIn(scope);
    const where = scope === "local" ? " on the Node" : "";
    if (chosen > 0) return `${chosen} of ${endpoints.length}${where}`;
    return scope === "local" && endpoints.length > 0 ? "none on the Node" : "none: rejected";
}

function isChosen({ scopes }: EndpointReport, scope: Scope): boolean {
    return scopes.some((one) => one.scope === scope && one.chosen);
}

interface EndpointRow {
    readonly port: string;
    readonly endpoint: EndpointReport;
}

function endpointTable(ports: readonly PortReport[], service: ServiceReport, style: Style): string {
    const rows = ports.flatMap((port) =>
        port.endpoints.map((endpoint): EndpointRow => ({
            port: `${port.protocol} ${port.port}${nameOf(port)}`,
            endpoint,
        })),
    );
    const columns = [
        {
            title: "ENDPOINT",
            value: ({ endpoint: { address, port } }: EndpointRow) => oneLine(withPort(address, port)),
        },
        { title: "FOR PORT", value: ({ port }: EndpointRow) => port },
        { title: "NODE", value: ({ endpoint }: EndpointRow) => endpoint.node ?? "" },
        { title: "CHOSEN", value: ({ endpoint }: EndpointRow) => endpointChoice(endpoint, service) },
    ];
    const more =
        rows.length > mostRows ? `\nand ${count(rows.length - mostRows, "more endpoint")} (-o json shows all)` : "";
    return table(columns, rows.slice(0, mostRows), style) + more;
}

function withPort(address: string, port: number | undefined): string {
    if (port === undefined) return address;
    return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/** `yes`, or why not; with the policy where one client gets it and another one does not. */
function endpointChoice({ scopes }: EndpointReport, service: ServiceReport): string {
    const policies = [
        ...(service.internalTrafficPolicy === "Local" ? ["internalTrafficPolicy"] : []),
        ...(service.externalTrafficPolicy === "Local" ? ["externalTrafficPolicy"] : []),
    ].join(" and ");
    const texts = scopes.map(({ scope, chosen, text = "" }) => {
        const what = chosen ? "yes" : `no: ${text}`;
        return scope === "local" ? `${what} (${policies} Local)` : what;
    });
    return [...new Set(texts)].join("; ");
}
