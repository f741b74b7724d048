export { NetworkReviewer, type NetworkReviewComponents, type NetworkVerdict } from "./reviewer.ts";
export { checkSelections, templateOf } from "./selections.ts";
export { NetworkUsers } from "./users.ts";
