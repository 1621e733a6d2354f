import type { Schema } from '../api/fields';

/** The schema of a farm, or of an object within it. Profile https is http with another listener. */
export function schemaOf(all: Record<string, Schema>, profile: string, of: 'farm' | 'backend' | 'service'): Schema {
  const name = `${profile === 'https' ? 'http' : profile}_${of}`;
  return name === 'http_service' ? all.service : all[name];
}
