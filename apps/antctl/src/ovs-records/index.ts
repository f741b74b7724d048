export { readPorts, type PortRecord, type RecordAddress } from "./ports.ts";
export { RecordReader, type NodeRead, type RecordReaderComponents } from "./record-reader.ts";
