export { readPorts, type PortRecord, type RecordAddress } from "./ports.ts";
export { RecordReader, type NodeLook, type RecordReaderComponents } from "./record-reader.ts";
