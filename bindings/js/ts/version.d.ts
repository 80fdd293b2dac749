/** The version of the package; made by build.mjs. */
export const VERSION: string;
