import type { Schema } from '../form/schema';

/** The schema of a farm, or of its backends: https is http with another listener. */
export function schemaOf(all: Record<string, Schema>, profile: string, of: 'farm' | 'backend'): Schema {
  return all[`${profile === 'https' ? 'http' : profile}_${of}`];
}
