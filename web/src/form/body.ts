import { queryOptions, useQuery } from '@tanstack/react-query';
import { body, request } from '../api/client';
import type { Field, Schema } from '../api/fields';

type Node = Field & { $ref?: string; anyOf?: Node[]; properties?: Record<string, Node>; required?: string[] };
type Document = {
  paths: Record<string, Record<string, { summary?: string; description?: string; requestBody?: { content: Record<string, { schema: Node }> } }>>;
  components: { schemas: Record<string, Node> };
};

/** The appliance's OpenAPI document. It is large, so only the pages that need it load it. */
export const openapi = queryOptions({ queryKey: ['openapi'], queryFn: async () => (await body(request('GET', ['openapi.json']))) as Document, staleTime: Infinity });

/** The schema of a request body outside of the configuration, e.g. for users, notifications or orders. */
export function useBody(method: 'post' | 'put', path: string): Schema | undefined {
  const document = useQuery(openapi).data;
  return document && bodySchema(document, method, path);
}

/** The schema of a body; of several alternatives the first. */
export function bodySchema(document: Document, method: string, path: string): Schema | undefined {
  let node: Node | undefined = document.paths[path]?.[method]?.requestBody?.content['application/json']?.schema;
  while (node && !node.properties) {
    const ref: string | undefined = node.$ref ?? node.anyOf?.[0]?.$ref;
    if (!ref) return undefined;
    node = document.components.schemas[ref.split('/').pop() ?? ''];
  }
  return node && { properties: Object.fromEntries(Object.entries(node.properties ?? {}).map(([name, f]) => [name, withFormat(f)])), required: node.required };
}

/** The format of a value in the document is part of its description. */
function withFormat(f: Field): Field {
  const found = /^(.*) Form: (.+)\.$/s.exec(f.description ?? '');
  return found ? { ...f, description: found[1], 'x-format': found[2] } : f;
}
