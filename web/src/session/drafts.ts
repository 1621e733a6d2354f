/** Unsaved input of forms, by form and field. It outlives the page and the session, but not the user. */
export const drafts = new Map<string, Record<string, string | boolean | string[]>>();
