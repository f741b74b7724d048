/** Internals that read received bytes, and what writes them again, for tools/fuzz only. */
export { checkGroupMod } from "./codec/check-group.ts";
export { writeGroupMod } from "./codec/message/group-mod.ts";
export { writeMeterMod } from "./codec/message/meter-mod.ts";
export { splitGroupMod } from "./codec/message/split-group.ts";
export { Link } from "./connection/link.ts";
