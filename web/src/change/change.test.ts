import { describe, expect, it, vi } from 'vitest';
import { call, quoted, settings } from './change';

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
