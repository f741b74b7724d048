/**
 * What the output supports. The functions put ANSI escape sequences around text, or return it as it is where there are
 * no colours.
 */
export interface Style {
    /** Line width; tables and paragraphs are wrapped to it. */
    readonly columns: number;
    /** Whether non-ASCII characters are printed. */
    readonly unicode: boolean;
    readonly bold: (text: string) => string;
    readonly dim: (text: string) => string;
    readonly good: (text: string) => string;
    readonly warn: (text: string) => string;
    readonly bad: (text: string) => string;
}

/** What is known of standard output and the environment variables. */
export interface Terminal {
    readonly isTty: boolean;
    /** Width of the terminal, if standard output is one. */
    readonly columns: number | undefined;
    readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Line width for a file or pipe, and for a terminal of unknown width. */
const plainColumns = 100;

/**
 * The style for an output. Colours are used on a terminal only, and not if NO_COLOR is set (no-color.org) or TERM is
 * "dumb". Non-ASCII characters depend on the locale (POSIX: LC_ALL, then LC_CTYPE, then LANG). Lines are as wide as the
 * terminal, at least 60 characters, and 100 elsewhere.
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
