import { afterEach, describe, expect, it } from 'vitest';
import { includes, refusal, setRights, type Call, type Rights } from './rights';

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
    expect(refusal({ method: 'GET', path })?.status).toBe(refused ? 403 : undefined);
  });
  it('about all farms is refused here to users who see some', async () => {
    setRights(rights(['history.show'], false));
    expect(refusal({ method: 'GET', path: '/history' })?.status).toBe(403);
    setRights(rights(['history.show']));
    expect(refusal({ method: 'GET', path: '/history' })).toBeUndefined();
  });
  it('is left to the appliance before the rights are known', () => {
    expect(refusal({ method: 'GET', path: '/certificates' })).toBeUndefined();
    expect(refusal({ method: 'DELETE', path: '/farms/shop' })).toBeUndefined();
  });
  it.each<[Call, string[], boolean]>([
    [{ method: 'PUT', path: '/farms/shop/actions' }, ['farm.action'], false],
    [{ method: 'PUT', path: '/farms/shop/actions' }, ['farm.modify'], true],
    [{ method: 'PUT', path: '/farms/shop' }, ['farm.action'], true],
    [{ method: 'POST', path: '/farms/shop/explain' }, [], false],
    [{ method: 'POST', path: '/transactions', writes: [{ method: 'POST', path: '/farms' }] }, ['farm.create'], false],
    [{ method: 'POST', path: '/transactions', writes: [{ method: 'POST', path: '/farms' }, { method: 'POST', path: '/farms/new/services' }] }, ['farm.create'], true],
    [{ method: 'POST', path: '/keys' }, ['farm.create'], true],
  ])('%j that writes, with %j, is refused here: %s', (call, permissions, refused) => {
    setRights(rights(permissions));
    expect(refusal(call)?.status).toBe(refused ? 403 : undefined);
  });
  it('is refused here where some operations of its permission are about all farms, to users who see some', () => {
    setRights(rights(['certificate.upload'], false));
    expect(refusal({ method: 'PUT', path: '/certificates/ocsp' })?.status).toBe(403);
    expect(refusal({ method: 'POST', path: '/certificates/pem' })).toBeUndefined();
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
