import { describe, expect, it, vi } from 'vitest';
import { call, forced, quoted, settings, write } from './change';

vi.stubGlobal('location', { origin: 'https://appliance' });

describe('the equal command', () => {
  it.each([
    ['shop', 'shop'],
    ['10.0.0.1:80', '10.0.0.1:80'],
    ['two words', "'two words'"],
    ["it's", "'it'\\''s'"],
    ['$(reboot)', "'$(reboot)'"],
    ['', "''"],
  ])('quotes %s', (word, want) => expect(quoted(word)).toBe(want));
  it('has settings as the command line takes them', () => {
    expect(settings({ queue: 10, persistence: '', ttl: null, logs: 'true', trusted: ['10.0.0.0/8', '::1'], none: [], vhost: '^a b' })).toBe(
      "queue=10 persistence= ttl=null logs=true trusted=10.0.0.0/8 trusted=::1 none=null 'vhost=^a b'",
    );
  });
});

describe('the equal call', () => {
  it('escapes names and data', () =>
    expect(call('PUT', ['farms', 'a/b'], { vhost: "it's" })).toBe(
      `curl -k -X PUT -H "ZAPI_KEY: $KEY" -H 'Content-Type: application/json' -d '{"vhost":"it'\\''s"}' 'https://appliance/api/v4.0/farms/a%2Fb'`,
    ));
  it('has no data where there is none', () => expect(call('DELETE', ['farms', 'a'])).toBe(`curl -k -X DELETE -H "ZAPI_KEY: $KEY" 'https://appliance/api/v4.0/farms/a'`));
});

describe('a change that is forced', () => {
  const change = write('', 'sluice zone set names example.com dnssec=off', 'PUT', ['farms', 'names', 'zones', 'example.com'], { dnssec: 'off' });
  it('has the flag of the command line', () => expect(forced(change).command).toBe('sluice zone set names example.com dnssec=off --force'));
  it('has no command where there is none', () => expect(forced({ ...change, command: '' }).command).toBe(''));
  it('has the parameter of the API', () => expect(forced(change).call).toMatch(/zones\/example\.com\?force=true'$/));
  it('adds it to others', () => expect(forced({ ...change, call: "curl 'https://a/b?add=true'" }).call).toBe("curl 'https://a/b?add=true&force=true'"));
});
