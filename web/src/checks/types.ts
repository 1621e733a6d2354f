/** A health check, as far as pages read it; its form reads the rest by the schema. */
export type Check = { name: string; command?: unknown; description?: unknown; farms: string[]; template: 'true' | 'false' };

/** What a try of a check found. */
export type Tried = { command: string; host: string; address: string; port: number; conversation: string[]; healthy: string; reason?: string; took: number };
