import { stringify } from "yaml";

/** The values of `-o`; `table` is text for people, `json` and `yaml` are one document with the whole report. */
export const formats = ["table", "json", "yaml"] as const;
/** How a report is written, one of `formats`. */
export type Format = (typeof formats)[number];

/**
 * Formats a command's report as one JSON or YAML document, or as what `render` returns (`table`); with a final line
 * end.
 */
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
