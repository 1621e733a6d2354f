import { describe, expect, it } from 'vitest';
import type { Field, Schema } from '../api/fields';
import { choices, groups, kindOf } from './schema';
import { applies, changed, valuesOf } from './values';

const schema: Schema = {
  properties: {
    vip: { type: 'string', 'x-group': 'Address' },
    vport: { type: ['string', 'integer'], 'x-group': 'Address' },
    copy_from: { type: 'string', 'x-group': 'Address', 'x-when': 'create' },
    newname: { type: 'string', 'x-group': 'Address', 'x-when': 'update' },
    carrier: { type: 'string', readOnly: true },
    queue: { type: ['integer', 'null'], default: 0, 'x-group': 'Queue' },
    queue_timeout: { type: ['integer', 'null'], default: 5, 'x-group': 'Queue', 'x-only': { fields: ['queue'] } },
    logs: { type: ['boolean', 'string'], enum: [true, false, 'true', 'false'], default: false },
    abort: { type: ['boolean', 'string'], enum: [true, false, 'true', 'false'], default: true },
    persistence: { type: ['string', 'null'], enum: ['', 'IP', 'COOKIE', null] },
    sessionid: { type: ['string', 'null'], 'x-only': { fields: ['persistence'], values: ['COOKIE'] } },
    expect: { type: ['string', 'null'], default: 'pass', enum: ['pass', 'ignore', '0', null], 'x-values': ['pass', 'ignore'] },
    code: { type: ['integer', 'null'], enum: [301, 302, null], default: 302 },
    compression: { type: ['array', 'null'], items: { enum: ['gzip', 'br'] } },
    trusted: { type: ['array', 'null'] },
    password: { type: 'string' },
  },
};
const seen = { vip: '192.0.2.1', vport: 80, queue: 0, queue_timeout: null, logs: 'false', persistence: '', compression: ['gzip'], trusted: [] };

describe('a form', () => {
  const before = valuesOf(schema, seen);
  it('shows what acts where nothing is set', () => {
    expect(before).toMatchObject({ vport: '80', queue: '0', queue_timeout: '', logs: false, abort: true, persistence: '', expect: 'pass', code: '302', compression: ['gzip'], trusted: [] });
  });
  it('changes nothing while nothing is changed', () => expect(changed(schema, before, { ...before })).toEqual({}));
  it('sends what differs, each in the form the API takes', () => {
    const now = { ...before, vport: ' 443 ', queue: '10', queue_timeout: '7', logs: true, persistence: 'IP', code: '301', trusted: ['10.0.0.0/8', ' '] };
    expect(changed(schema, before, now)).toEqual({ vport: '443', queue: 10, queue_timeout: 7, logs: 'true', persistence: 'IP', code: 301, trusted: ['10.0.0.0/8'] });
  });
  it('sends wrong numbers as they are, for the appliance to say what is wrong', () => {
    expect(changed(schema, before, { ...before, queue: 'many' })).toEqual({ queue: 'many' });
  });
  it('sends nothing of what does not apply', () => {
    expect(changed(schema, before, { ...before, queue_timeout: '7' })).toEqual({});
    expect(changed(schema, before, { ...before, sessionid: 'SID' })).toEqual({});
    expect(changed(schema, before, { ...before, persistence: 'COOKIE', sessionid: 'SID' })).toEqual({ persistence: 'COOKIE', sessionid: 'SID' });
  });
  it('resets what may be nothing', () => {
    const set = valuesOf(schema, { ...seen, queue: 3, queue_timeout: 9, persistence: 'IP', vip: '192.0.2.1' });
    expect(changed(schema, set, { ...set, queue_timeout: '' })).toEqual({ queue_timeout: null });
    expect(changed(schema, set, { ...set, persistence: '', vip: '' })).toEqual({ persistence: '', vip: '' });
  });
  it('keeps blanks of passwords', () => expect(changed(schema, before, { ...before, password: ' a b ' })).toEqual({ password: ' a b ' }));
});

describe('conditions', () => {
  it.each([
    [undefined, true],
    [{ fields: ['a'] }, false],
    [{ fields: ['a', 'b'] }, true],
    [{ fields: ['b'], values: ['x'] }, true],
    [{ fields: ['b'], values: ['y'] }, false],
    [{ fields: ['a'], or: { fields: ['b'] } }, true],
    [{ fields: ['b'], and: { fields: ['a'] } }, false],
    [{ fields: ['off'], values: ['false'] }, true],
    [{ fields: ['zero'] }, false],
    [{ fields: ['none'] }, false],
    [{ fields: ['f'], of: 'farm' as const }, true],
    [{ fields: ['b'], of: 'farm' as const }, false],
  ])('%o', (c, want) => expect(applies(c, { a: '', b: 'x', off: false, zero: '0', none: [] }, { f: 'set' })).toBe(want));
  it('forbids nothing where the farm is not known', () => expect(applies({ fields: ['f'], of: 'farm' }, {})).toBe(true));
});

describe('fields', () => {
  it.each<[string, Field, string]>([
    ['logs', schema.properties.logs, 'switch'],
    ['flag', { type: 'string', enum: ['true', 'false'] }, 'switch'],
    ['compression', schema.properties.compression, 'choices'],
    ['trusted', schema.properties.trusted, 'list'],
    ['code', schema.properties.code, 'choice'],
    ['queue', schema.properties.queue, 'number'],
    ['vport', schema.properties.vport, 'text'],
    ['newpassword', {}, 'secret'],
    ['passphrase', {}, 'secret'],
  ])('%s', (name, f, want) => expect(kindOf(name, f)).toBe(want));
  it('are offered once, whatever spellings there are', () => {
    expect(choices(schema.properties.expect)).toEqual(['pass', 'ignore']);
    expect(choices(schema.properties.persistence)).toEqual(['IP', 'COOKIE']);
  });
  it('are shown to who takes them', () => {
    const names = (when: 'create' | 'update') => groups(schema, when).flatMap(([, fields]) => fields.map(([name]) => name));
    expect(names('create')).toContain('copy_from');
    expect(names('create')).not.toContain('newname');
    expect(names('update')).not.toContain('copy_from');
    expect(names('update')).not.toContain('carrier');
    expect(groups(schema, 'update')[0][0]).toBe('Address');
  });
});
