export { sendFrames } from "./packet.ts";
