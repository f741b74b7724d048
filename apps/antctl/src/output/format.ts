import { stringify } from "yaml";

/** The values of `-o`. */
export const formats = ["table", "json", "yaml"] as const;
export type Format = (typeof formats)[number];

/** Formats a command's report as a table, or as one JSON or YAML document. */
export function formatReport<Report>(report: Report, format: Format, render: (report: Report) => string): string {
    switch (format) {
        case "json":
            return `${JSON.stringify(report, undefined, 4)}\n`;
        case "yaml":
            return stringify(report, { lineWidth: 0, aliasDuplicateObjects: false });
        case "table":
            return `${render(report)}\n`;
    }
}
