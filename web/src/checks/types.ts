/** The fields of a health check that pages read; its form reads the others by the schema. */
export type Check = { name: string; command?: unknown; description?: unknown; farms: string[]; template: 'true' | 'false' };

/** The result of a test run. */
export type Tried = { command: string; host: string; address: string; port: number; conversation: string[]; healthy: string; reason?: string; took: number };
