export { Masquerade, NftError, runNft, type MasqueradeComponents, type RunNft } from "./masquerade.ts";
export { ruleset, tableName, type MasqueradeInput } from "./ruleset.ts";
