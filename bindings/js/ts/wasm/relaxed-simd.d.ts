/** The module in base64; made by build.mjs. */
declare const base64: string;
export default base64;
