import { describe, expect, it, vi } from 'vitest';
import { Refused } from '../api/client';
import { activateKey, addKey, createRecord, createZone, importZone, removeKey, removeRecords } from './actions';
import { existing, refreshed } from './selection';
import { queryOf, type Record } from './types';
import { wrongField, wrongLines } from './refusal';

vi.stubGlobal('location', { origin: 'https://appliance' });

describe('a refusal', () => {
  const fields = ['rname', 'rdata', 'type'];
  it.each([
    [new Refused('farm "names" zone "example.com" record 4: rdata must be an IPv4 address, got "x"', 400, undefined, 'rdata'), { name: 'rdata', text: 'rdata must be an IPv4 address, got "x"' }],
    [new Refused('rdata: the service gone does not exist in the farm names', 404), { name: 'rdata', text: 'the service gone does not exist in the farm names' }],
    [new Refused('the request cannot be explained: refused by the engine: type: "FOO" is no type of records', 400), { name: 'type', text: '"FOO" is no type of records' }],
    [new Refused('the farm is locked', 409), undefined],
    [new Refused('id must be a name', 400, undefined, 'id'), undefined],
    [new Error('rdata: no'), undefined],
  ])('%s is shown at its field', (error, want) => expect(wrongField(error, fields)).toEqual(want));
  it('of a file names its lines', () => {
    const said = 'the file cannot be imported: line 3: type CNAME must be alone; remove these, or write the addresses; line 14: rdata: no service';
    expect(wrongLines(new Refused(said, 400))).toEqual([
      { line: 3, text: 'type CNAME must be alone; remove these, or write the addresses' },
      { line: 14, text: 'rdata: no service' },
    ]);
    expect(wrongLines(new Refused('the body is empty', 400))).toEqual([]);
  });
});

describe('chosen records', () => {
  const record = (id: number, rdata: string) => ({ id, rname: `p${id}`, type: 'A', rdata }) as Record;
  const chosen = new Map([1, 2, 12].map((id) => [id, record(id, 'old')]));
  it('have the values of the page that was read last', () => {
    const now = refreshed(chosen, [record(2, 'new'), record(3, 'other')]);
    expect([...now.values()].map((r) => `${r.id} ${r.rdata}`)).toEqual(['1 old', '2 new', '12 old']);
    expect(refreshed(now, [now.get(2)!])).toBe(now);
  });
  it('are without those that a refusal names as gone', () => {
    const gone = (ids: number[]) => new Refused(`${ids.map((id, i) => `delete[${i}].id: the resource ${id} does not exist in the zone a.test`).join('; ')}; nothing was changed`, 400);
    expect([...existing(chosen, gone([2, 7])).keys()]).toEqual([1, 12]);
    for (const other of [gone([7]), new Refused('the zone a.test does not exist', 404), new Error('x')]) expect(existing(chosen, other)).toBe(chosen);
  });
});

describe('changes of zones', () => {
  it('have equals on the command line', () => {
    expect(createZone('names', { id: 'example.com', ttl: 60 }, '').command).toBe('sluice zone create names example.com ttl=60');
    expect(createRecord('names', 'example.com', { rname: '@', type: 'MX', rdata: '10 mail', ttl: 60 }, '').command).toBe('sluice record create names example.com @ MX 10 mail ttl=60');
    expect(createRecord('names', 'example.com', { rname: '*', type: 'TXT', rdata: '"a b"' }, '').command).toBe(`sluice record create names example.com '*' TXT '"a b"'`);
  });
  it('of keys too', () => {
    expect(addKey('names', 'example.com', '').command).toBe('sluice zone key add names example.com');
    const use = activateKey('names', 'example.com', 7, '');
    expect(use.command).toBe('sluice zone key use names example.com 7');
    expect(use.call).toContain(`-X PUT`);
    expect(use.call).toContain(`'{"state":"active"}'`);
    expect(removeKey('names', 'example.com', 7, '').call).toContain('/farms/names/zones/example.com/keys/7');
  });
  it('delete records as one', () => {
    const record = { zone: 'example.com', rname: 'www', type: 'A' as const, ttl: null, rdata: '192.0.2.1', comment: '' };
    const change = removeRecords('names', 'example.com', [{ ...record, id: 2 }, { ...record, id: 7 }], '');
    expect(change.command).toBe(`echo '{"delete":[2,7]}' | sluice record bulk names example.com -`);
    expect(change.call).toContain('/farms/names/zones/example.com/resources/bulk');
    expect(change.call).toContain(`'{"delete":[2,7]}'`);
  });
  it('import a file in place of the records or beside them', () => {
    expect(importZone('names', 'example.com', '', false, '').call).toContain("/farms/names/zones/example.com/import'");
    expect(importZone('names', 'example.com', '', true, '')).toMatchObject({ command: 'sluice zone import names example.com FILE --add' });
  });
});

describe('a page of records', () => {
  it.each([
    [{ text: '', type: null, page: 1 }, { limit: '100', offset: '0' }],
    [{ text: ' mail ', type: 'MX', page: 3 }, { limit: '100', offset: '200', search: 'mail', type: 'MX' }],
  ])('%j is found by the appliance', (wanted, query) => expect(queryOf(wanted)).toEqual(query));
});
