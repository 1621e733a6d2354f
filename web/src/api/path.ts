/** The root zone is @ in paths, because browsers remove path segments that are a dot. */
export const zoneSegment = (zone: string) => (zone === '.' ? '@' : zone);

/** The path of a resource below the API's base, with each part escaped. */
export const pathOf = (parts: (string | number)[]) => `/${parts.map((p) => encodeURIComponent(typeof p === 'string' ? zoneSegment(p) : p)).join('/')}`;
