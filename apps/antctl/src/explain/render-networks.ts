import { list, oneLine, table, type Style } from "../output/index.ts";
import { type NetworkReport, type NetworksReport } from "./networks.ts";

type Row = NetworkReport["addresses"][number] & { readonly of: string };

/** The networks of a Pod as sections of the report; none if it requests none. */
export function renderNetworks({ requested, notes }: NetworksReport, style: Style): readonly string[] {
    const sections: string[] = [];
    if (requested.length > 0) {
        const columns = [
            { title: "INTERFACE", value: (row: NetworkReport) => row.interface },
            { title: "NETWORK", value: (row: NetworkReport) => row.network },
            { title: "VLAN", value: (row: NetworkReport) => row.vlans.map(vlanText).join(" or ") },
            { title: "ATTACHED BY", value: (row: NetworkReport) => oneLine(row.by) },
        ];
        sections.push(`${style.bold("Networks")}\n${table(columns, requested, style)}`);
    }
    const rows = requested.flatMap((network) =>
        network.addresses.map((trial) => ({ ...trial, of: network.interface })),
    );
    if (rows.length > 0) {
        const columns = [
            { title: "INTERFACE", value: (row: Row) => row.of },
            { title: "POOL", value: (row: Row) => oneLine(row.pool ?? "") },
            { title: "VERSION", value: (row: Row) => (row.ipVersion === undefined ? "" : `IPv${row.ipVersion}`) },
            { title: "OUTCOME", value: (row: Row) => row.text },
        ];
        sections.push(table(columns, rows, style));
    }
    if (notes.length > 0) {
        const texts = notes.map(({ what, next }) => `${oneLine(what)}\nnext: ${oneLine(next)}`);
        sections.push(`${style.warn("About its networks:")}\n${list(texts, style)}`);
    }
    return sections;
}

function vlanText(vlan: number): string {
    return vlan === 0 ? "untagged" : String(vlan);
}
