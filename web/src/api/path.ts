/** The root zone is @ in paths: browsers take a segment that is a dot out of them. */
export const zoneSegment = (zone: string) => (zone === '.' ? '@' : zone);

/** The path of a resource below the API's base, each part escaped. */
export const pathOf = (parts: (string | number)[]) => `/${parts.map((p) => encodeURIComponent(typeof p === 'string' ? zoneSegment(p) : p)).join('/')}`;
