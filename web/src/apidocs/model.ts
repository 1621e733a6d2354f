import { quoted } from '../change/change';

/** The displayed part of a schema in the document. */
export type Node = {
  $ref?: string;
  anyOf?: Node[];
  oneOf?: Node[];
  type?: string | string[];
  enum?: unknown[];
  items?: Node;
  properties?: Record<string, Node>;
  required?: string[];
  title?: string;
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  format?: string;
  examples?: unknown[];
  'x-format'?: string;
  'x-unit'?: string;
};
type Parameter = { $ref?: string; name: string; in: string; required?: boolean; description?: string; schema?: Node; example?: unknown };
type Response = { $ref?: string; description?: string; content?: Record<string, { schema?: Node }> };
type Call = { operationId: string; summary?: string; description?: string; tags?: string[]; parameters?: Parameter[]; requestBody?: { content: Record<string, { schema?: Node; example?: unknown }> }; responses?: Record<string, Response> };
export type Doc = { paths: Record<string, Record<string, Call>>; components: { schemas: Record<string, Node>; parameters?: Record<string, Parameter>; responses?: Record<string, Response> } };

/** The description of a parameter, or of a field in a body or a response. */
export type Line = { name: string; type: string; range: string; default: string; description: string; required: boolean };

/** One operation of the API. */
export type Operation = { id: string; method: string; path: string; section: string; summary: string; description: string; call: Call; text: string };

const last = (ref: string) => ref.split('/').pop() ?? '';

/** All operations, ordered by section and path. */
export function operations(doc: Doc): Operation[] {
  const out: Operation[] = [];
  for (const [path, calls] of Object.entries(doc.paths)) {
    for (const [method, call] of Object.entries(calls)) {
      const section = call.tags?.[0] ?? '';
      const fields = bodies(doc, call).flatMap((b) => b.lines.map((l) => l.name));
      out.push({ id: call.operationId, method: method.toUpperCase(), path, section, summary: call.summary ?? '', description: call.description ?? '', call, text: [method, path, call.summary, section, ...fields].join(' ').toLowerCase() });
    }
  }
  return out.sort((a, b) => a.section.localeCompare(b.section) || a.path.localeCompare(b.path));
}

/** The operations that contain every word of the search. */
export function found(all: Operation[], wanted: string): Operation[] {
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  return all.filter((o) => words.every((w) => o.text.includes(w)));
}

/** Operations by section. */
export function bySection(all: Operation[]): [string, Operation[]][] {
  const out = new Map<string, Operation[]>();
  for (const o of all) out.set(o.section, [...(out.get(o.section) ?? []), o]);
  return [...out];
}

/** The object schemas of a node: resolves references, and returns every alternative. */
export function variants(doc: Doc, node: Node | undefined, depth = 6): Node[] {
  if (!node || depth === 0) return [];
  if (node.$ref) return variants(doc, doc.components.schemas[last(node.$ref)], depth - 1);
  const several = node.anyOf ?? node.oneOf;
  return several ? several.flatMap((n) => variants(doc, n, depth - 1)) : [node];
}

/** The request body: the fields of every alternative, by content type. */
export function bodies(doc: Doc, call: Call): { kind: string; lines: Line[] }[] {
  return Object.entries(call.requestBody?.content ?? {}).flatMap(([kind, c]) => {
    const objects = variants(doc, c.schema).filter((n) => n.properties);
    return objects.length > 0 ? objects.map((n) => ({ kind, lines: lines(doc, n) })) : [{ kind, lines: [] }];
  });
}

/** The fields of an object, required ones first. */
export function lines(doc: Doc, node: Node): Line[] {
  const needed = new Set(node.required);
  return Object.entries(node.properties ?? {})
    .map(([name, f]) => line(doc, name, f, needed.has(name)))
    .sort((a, b) => Number(b.required) - Number(a.required));
}

function line(doc: Doc, name: string, f: Node, required: boolean): Line {
  const shape = f.$ref ? (doc.components.schemas[last(f.$ref)] ?? f) : f;
  const value = (v: unknown) => (v === undefined ? '' : typeof v === 'string' ? v : JSON.stringify(v));
  return { name, type: typeOf(doc, f), range: rangeOf(shape), default: value(shape.default), description: f.description ?? shape.description ?? '', required };
}

function typeOf(doc: Doc, f: Node): string {
  if (f.$ref) return typeOf(doc, { type: 'object', ...doc.components.schemas[last(f.$ref)], anyOf: undefined });
  const several = f.anyOf ?? f.oneOf;
  if (several) return [...new Set(several.map((n) => typeOf(doc, n)))].join(' | ');
  const types = ([] as string[]).concat(f.type ?? 'any');
  return types.map((one) => (one === 'array' && f.items ? `${typeOf(doc, f.items)}[]` : one)).join(' | ');
}

/** The allowed values of a field, if they are restricted. */
function rangeOf(f: Node): string {
  const values = f.enum ?? f.items?.enum;
  const parts: string[] = [];
  if (values) parts.push(values.map((v) => (v === '' ? '""' : String(v))).join(', '));
  if (f.minimum !== undefined || f.maximum !== undefined) parts.push(`${f.minimum ?? ''}…${f.maximum ?? ''}`);
  if (f.maxLength !== undefined && !values) parts.push(`≤ ${f.maxLength}`);
  const format = f['x-format'] ?? f.format;
  if (format && !/^(int|uint|double|float)/.test(format)) parts.push(format);
  if (f['x-unit']) parts.push(f['x-unit']);
  return parts.join(' · ');
}

/** Path and query parameters. */
export function parameters(doc: Doc, call: Call): (Line & { in: string })[] {
  return (call.parameters ?? [])
    .map((p) => (p.$ref ? (doc.components.parameters?.[last(p.$ref)] ?? p) : p))
    .map((p) => ({ ...line(doc, p.name, { ...p.schema, description: p.description }, p.required === true), in: p.in }));
}

/** The possible responses, and the fields of the successful one. */
export function answers(doc: Doc, call: Call): { status: string; description: string; lines: Line[] }[] {
  return Object.entries(call.responses ?? {}).map(([status, r]) => {
    const response = r.$ref ? (doc.components.responses?.[last(r.$ref)] ?? r) : r;
    const shape = variants(doc, Object.values(response.content ?? {})[0]?.schema)[0];
    return { status, description: response.description ?? '', lines: shape && status.startsWith('2') ? lines(doc, within(doc, shape)) : [] };
  });
}

/** The content of a response: params, or an element of a list. */
function within(doc: Doc, shape: Node): Node {
  const params = variants(doc, shape.properties?.params)[0];
  const one = variants(doc, params?.items)[0] ?? params;
  return one?.properties ? one : shape;
}

/** The call as a curl command; placeholders are in braces. */
export function curl(op: Operation, origin: string): string {
  const [kind, content] = Object.entries(op.call.requestBody?.content ?? {})[0] ?? [];
  const data = kind ? ` -H ${quoted(`Content-Type: ${kind}`)} ${kind.includes('json') ? `-d ${quoted(JSON.stringify(content?.example ?? {}))}` : '--data-binary @FILE'}` : '';
  const output = op.method === 'GET' && Object.keys(op.call.responses?.['200']?.content ?? {}).some((k) => !k.includes('json') && !k.startsWith('text/')) ? ' -OJ' : '';
  return `curl -k${output}${op.method === 'GET' ? '' : ` -X ${op.method}`} -H "ZAPI_KEY: $KEY"${data} '${origin}/api/v4.0${op.path}'`;
}
