import { afterEach, describe, expect, it } from 'vitest';
import { includes, refusal, setRights, type Rights } from './rights';

const rights = (permissions: string[], allFarms = true, user = 'bob'): Rights => {
  const sections: Rights['sections'] = {};
  for (const p of permissions) {
    const [section, name] = p.split('.');
    sections[section] = { ...sections[section], [name]: 'true' };
  }
  return { user, sections, allFarms };
};

describe('a call that the user has no right to', () => {
  afterEach(() => setRights(undefined));
  it.each([
    ['/certificates', ['certificate.show'], false],
    ['/certificates', [], true],
    ['/certificates/shop.pem/info', [], true],
    ['/certificates/shop.pem/info?x=1', ['certificate.show'], false],
    ['/keys', [], true],
    ['/stats/farms', [], false],
    ['/farms/shop', [], false],
    ['/a/path/that/nobody/knows', [], false],
  ])('to %s with %j is refused here: %s', (path, permissions, refused) => {
    setRights(rights(permissions));
    expect(refusal('GET', path)?.status).toBe(refused ? 403 : undefined);
  });
  it('about all farms is refused here to users who see some', async () => {
    setRights(rights(['history.show'], false));
    expect(refusal('GET', '/history')?.status).toBe(403);
    setRights(rights(['history.show']));
    expect(refusal('GET', '/history')).toBeUndefined();
  });
  it('is left to the appliance when it writes, and before the rights are known', () => {
    expect(refusal('GET', '/certificates')).toBeUndefined();
    setRights(rights([]));
    expect(refusal('POST', '/certificates')).toBeUndefined();
  });
});

describe('rights', () => {
  it('include all for root', () => expect(includes(rights([], true, 'root'), 'root')).toBe(true));
  it('do not include what is for root alone', () => expect(includes(rights([]), 'root')).toBe(false));
  it('count for all farms only where all are seen', () => {
    expect(includes(rights(['history.rollback'], false), 'history.rollback')).toBe(false);
    expect(includes(rights(['history.rollback'], true), 'history.rollback')).toBe(true);
    expect(includes(rights(['farm.modify'], false), 'farm.modify')).toBe(true);
  });
});
