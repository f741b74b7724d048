/** How text may look where it is read. */
export interface Style {
    /** Characters in a line; tables and paragraphs are folded to it. */
    readonly columns: number;
    /** Whether characters outside ASCII are shown. */
    readonly unicode: boolean;
    readonly bold: (text: string) => string;
    readonly dim: (text: string) => string;
    readonly good: (text: string) => string;
    readonly warn: (text: string) => string;
    readonly bad: (text: string) => string;
}

export interface Terminal {
    readonly isTty: boolean;
    /** Width of the terminal, where it is one. */
    readonly columns: number | undefined;
    readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Width of text that goes to a file or a pipe, and the most that lines are folded to. */
const plainColumns = 100;

/**
 * Colours go to a terminal only, and not where NO_COLOR is set (no-color.org) or TERM is "dumb". Characters outside
 * ASCII follow the locale (POSIX: LC_ALL, then LC_CTYPE, then LANG).
 */
export function styleFor(terminal: Terminal): Style {
    const { environment } = terminal;
    const coloured = terminal.isTty && (environment.NO_COLOR ?? "") === "" && environment.TERM !== "dumb";
    const locale = [environment.LC_ALL, environment.LC_CTYPE, environment.LANG].find((each) => (each ?? "") !== "");
    const paint = (code: number): ((text: string) => string) =>
        coloured ? (text) => `\u001b[${code}m${text}\u001b[0m` : (text) => text;
    return {
        columns: terminal.isTty ? Math.max(60, terminal.columns ?? plainColumns) : plainColumns,
        unicode: /utf-?8/i.test(locale ?? ""),
        bold: paint(1),
        dim: paint(2),
        good: paint(32),
        warn: paint(33),
        bad: paint(31),
    };
}
