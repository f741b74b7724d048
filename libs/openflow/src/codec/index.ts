export { OpenFlowError, type CodecErrorCode, type ConnectionErrorCode, type OpenFlowErrorCode } from "./errors.ts";
export { allTables, anyGroup, Port } from "./port.ts";
export { CtState, fieldList, fieldSpec, type FieldFormat, type FieldName, type FieldSpec } from "./fields.ts";
export { type FieldValue, type Match, type SubField } from "./match.ts";
export {
    type Action,
    type CloneAction,
    type ControllerAction,
    type CtAction,
    type MoveAction,
    type Nat,
    type OutputAction,
    type OutputFieldAction,
    type ResubmitAction,
    type SetFieldAction,
} from "./action.ts";
export { type LearnAction, type LearnSource, type LearnSpec } from "./action/learn-action.ts";
export { type Flow, type FlowCommand, type FlowLike, type FlowMod, type FlowStats } from "./flow.ts";
export {
    type BucketPlace,
    type Group,
    type GroupBucket,
    type GroupCounters,
    type GroupMod,
    type GroupSelection,
    type GroupType,
    type SelectionField,
} from "./group.ts";
export { type Meter, type MeterMod } from "./meter.ts";
export { type CtFlush, type CtTuple } from "./ct-flush.ts";
export { type BundleMod } from "./message/bundle.ts";
export { type PacketIn, type PacketOut } from "./packet.ts";
export { formatFlow } from "./format/flow.ts";
export { formatMatch } from "./format/match.ts";
export { formatActions } from "./format/action.ts";
export { flowBodyKey, flowKey } from "./flow-key.ts";
export { bucketKey, groupBodyKey } from "./group-key.ts";
export { checkFlow } from "./check-flow.ts";
export { matchKey } from "./match/canonical.ts";
export { decodeMessage, type Message } from "./message/decode.ts";
export { writeFlowMod } from "./message/flow-mod.ts";
export { type PortDescription } from "./message/port-description.ts";
export { errorName, type ErrorMessage } from "./message/error.ts";
export { FrameSplitter } from "./wire/splitter.ts";
export { Writer } from "./wire/writer.ts";
