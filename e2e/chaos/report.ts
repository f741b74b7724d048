import { connectionLimitMs } from "../fixture/connections.ts";
import { type Gap } from "../fixture/watched-way.ts";
import { type Check } from "./checks.ts";
import { type Churn } from "./churn.ts";
import { type Strike } from "./faults.ts";
import { noFault, recoveryMs, type Services } from "./services.ts";
import { type Mode } from "./stage.ts";

export interface Run {
    readonly mode: Mode;
    readonly seconds: number;
    readonly strikes: readonly Strike[];
    readonly churn: Pick<Churn, "done" | "refused">;
    readonly checks: readonly Check[];
    readonly ways: readonly { readonly name: string; readonly gaps: (longerThanMs: number) => readonly Gap[] }[];
    readonly end: number;
    /** Undefined: nobody connected to Services. */
    readonly services: Services | undefined;
}

const titles: Readonly<Record<Mode, { readonly suffix: string; readonly option: string }>> = {
    overlay: { suffix: "", option: "" },
    bridging: { suffix: ", in bridging mode", option: " BRIDGING=1" },
    networks: { suffix: ", with VLAN networks", option: " NETWORKS=1" },
    services: { suffix: ", with Services and no kube-proxy", option: " PROXYALL=1" },
};

/** A pause between answers is a loss from here on; the pings are 200 ms apart, and the machine is busy. */
const lossMs = 700;

/** The strike in whose time most of a pause lies: one that begins when the one before has ended has the longer part. */
function causeOf(gap: Gap, all: readonly Strike[]): Strike | undefined {
    const shared = (strike: Strike): number => Math.min(gap.to, strike.to) - Math.max(gap.from, strike.from);
    return all
        .filter((strike) => shared(strike) > 0)
        .reduce<Strike | undefined>(
            (most, strike) => (most === undefined || shared(strike) > shared(most) ? strike : most),
            undefined,
        );
}

/** The longest pause that has one of these strikes, of all that there were, as its cause. */
export function longestLoss(gaps: readonly Gap[], of: readonly Strike[], all: readonly Strike[]): number {
    const theirs = gaps.filter((gap) => of.some((strike) => strike === causeOf(gap, all)));
    return theirs.reduce((longest, { ms }) => Math.max(longest, ms), 0);
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
const row = (...cells: readonly (string | number)[]): string => `| ${cells.join(" | ")} |`;

/** New connections by fault and path. */
function connectionLines({ paths, attempts, failed }: Services, faults: readonly string[]): readonly string[] {
    return [
        `New connections to Services that failed (refused, reset, or without an answer within ${seconds(connectionLimitMs)} s), by the`,
        `fault that explains them, or else during which they began; \`-\` is none. Only faults that stop Open vSwitch of a Node on the path may have some, until`,
        `${seconds(recoveryMs)} s after it runs again.`,
        "",
        row("Fault", ...paths.map(({ name }) => name)),
        row("---", ...paths.map(() => "--:")),
        row("all connections", ...paths.map((path) => attempts.get(path) ?? 0)),
        ...[...faults, noFault].map((fault) => row(fault, ...paths.map((path) => failed.get(path)?.get(fault) ?? "-"))),
        "",
    ];
}

/** The report of a run, as Markdown. */
export function report({ mode, seconds: took, strikes, churn, checks, ways, end, services }: Run): string {
    const names = [...new Set(strikes.map(({ fault }) => fault))];
    const lossOf = ways.map((way) => way.gaps(lossMs).filter(({ from }) => from < end));
    const lines = [
        `# Faults on a real cluster${titles[mode].suffix}`,
        "",
        `Written by \`make chaos${titles[mode].option} WRITE=1\`; [what it does](../chaos.md). ${strikes.length} faults in`,
        `${Math.round(took / 60)} minutes, while Pods, StatefulSets, Deployments${services === undefined ? "" : ", Services"} and pools came and went.`,
        "",
        row("What must hold", "", "Checked"),
        row("---", "---", "---"),
        ...checks.map(({ name, ok, text }) => row(name, ok ? "holds" : "**broken**", text.replaceAll(/[|\n]/g, " "))),
        "",
        "The longest time without an answer on each way while a fault lasted and until all was well again, in seconds; `-` is",
        `less than ${seconds(lossMs)}. "Well again" is when the API server answers and all Pods of Antrea are ready, from the end`,
        "of the fault on, checked 8 s after it for the first time.",
        "",
        row("Fault", "Times", "Well again", ...ways.map(({ name }) => name)),
        row("---", "--:", "--:", ...ways.map(() => "--:")),
        ...names.map((name) => {
            const of = strikes.filter(({ fault }) => fault === name);
            const again = of.map(({ ended, wellAgain }) => (wellAgain === undefined ? Infinity : wellAgain - ended));
            const losses = lossOf.map((gaps) => longestLoss(gaps, of, strikes));
            return row(
                name,
                of.length,
                again.includes(Infinity) ? "**no**" : seconds(Math.max(...again)),
                ...losses.map((ms) => (ms === 0 ? "-" : seconds(ms))),
            );
        }),
        "",
        ...(services === undefined ? [] : connectionLines(services, names)),
        row("What users did", "Times"),
        row("---", "--:"),
        ...[...churn.done].sort().map(([name, times]) => row(name, times)),
        "",
        row("What was refused or not answered", "Times"),
        row("---", "--:"),
        ...[...churn.refused].sort().map(([name, times]) => row(name.replaceAll("|", "/"), times)),
        "",
    ];
    return lines.join("\n");
}
