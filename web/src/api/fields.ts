/** The condition under which a field is effective: another field has one of the values, or is set. */
export type Condition = {
  fields: string[];
  values?: string[];
  of?: 'farm';
  text?: string;
  or?: Condition;
  and?: Condition;
};

/** The description of a field (GET /schema, or a body of the OpenAPI document). */
export type Field = {
  title?: string;
  description?: string;
  type?: string | string[];
  enum?: unknown[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  items?: { enum?: string[] };
  readOnly?: boolean;
  'x-group'?: string;
  'x-advanced'?: boolean;
  'x-cost'?: string;
  'x-unit'?: string;
  'x-format'?: string;
  'x-only'?: Condition;
  'x-values'?: string[];
  'x-when'?: 'create' | 'update';
  'x-order'?: number;
};

export type Schema = { title?: string; properties: Record<string, Field>; required?: string[] };

/** The settings of an object by name, as the API returns and accepts them. */
export type Settings = Record<string, unknown>;
