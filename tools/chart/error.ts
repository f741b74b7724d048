import { AntreaError } from "@antrea/errors";

/** What the chart is generated from cannot be read (`UNREADABLE`), or cannot stand in a template of Helm (`NOT_A_TEXT`). */
export class ChartError extends AntreaError<"UNREADABLE" | "NOT_A_TEXT"> {}
