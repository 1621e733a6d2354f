import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { answers, bodies, curl, found, operations, parameters, type Doc } from './model';

const doc = JSON.parse(readFileSync(join(import.meta.dirname, '../api/openapi.json'), 'utf8')) as Doc;
const all = operations(doc);
const of = (method: string, path: string) => all.find((o) => o.method === method && o.path === path) ?? all[0];

describe('the documentation of the API', () => {
  it('finds operations by words of path, summary and fields', () => {
    expect(found(all, 'health check post').map((o) => o.path)).toContain('/monitoring/fg');
    expect(found(all, 'session_timeout nothing')).toEqual([]);
    expect(found(all, '  ')).toHaveLength(all.length);
  });
  it('shows fields with type, range and default, the required first', () => {
    const [{ kind, lines }] = bodies(doc, of('POST', '/monitoring/fg').call);
    expect(kind).toBe('application/json');
    expect(lines[0]).toMatchObject({ name: 'name', required: true, type: 'string' });
    expect(lines.find((l) => l.name === 'interval')).toMatchObject({ type: 'integer | null', range: '1…86400 · s', default: '10' });
  });
  it('shows parameters, also those told elsewhere', () => {
    const names = parameters(doc, of('PUT', '/monitoring/fg/{check}').call).map((p) => `${p.in} ${p.name}`);
    expect(names).toContain('path check');
    expect(names).toContain('header If-Match');
  });
  it('shows answers, of success with the fields of what is answered about', () => {
    const all = answers(doc, of('GET', '/certificates').call);
    expect(all.find((a) => a.status === '200')?.lines.map((l) => l.name)).toContain('fingerprint');
    expect(all.find((a) => a.status === '403')?.description).not.toBe('');
  });
  it('has a line for curl', () => {
    expect(curl(of('GET', '/certificates'), 'https://a')).toBe(`curl -k -H "ZAPI_KEY: $KEY" 'https://a/api/v4.0/certificates'`);
    expect(curl(of('POST', '/monitoring/fg/{check}/run'), 'https://a')).toBe(`curl -k -X POST -H "ZAPI_KEY: $KEY" -H 'Content-Type: application/json' -d '{"host":"10.0.0.11"}' 'https://a/api/v4.0/monitoring/fg/{check}/run'`);
  });
});
