import { describe, expect, it, vi } from 'vitest';
import { farmWrites, newFarm, split } from './new-farm';

vi.stubGlobal('location', { origin: 'https://appliance' });

describe('a backend as it is typed', () => {
  it.each([
    ['10.0.0.1:80', { ip: '10.0.0.1', port: 80 }],
    [' app.example.org:8080 ', { ip: 'app.example.org', port: 8080 }],
    ['10.0.0.1', { ip: '10.0.0.1' }],
    ['[2001:db8::1]:80', { ip: '2001:db8::1', port: 80 }],
    ['2001:db8::1', { ip: '2001:db8::1' }],
    ['10.0.0.1:', undefined],
    ['two words', undefined],
    ['', undefined],
  ])('%s', (line, want) => expect(split(line)).toEqual(want));
});

const typed = { farmname: 'shop', profile: 'https' as const, vip: '192.0.2.1', vport: '443', backends: '10.0.0.1:80\n\n10.0.0.2:80\n', certificate: 'shop.pem', zone: '' };

describe('a new farm', () => {
  it('is a farm, a service and its backends', () =>
    expect(farmWrites(typed).map((w) => [w.path, w.body])).toEqual([
      ['/farms', { farmname: 'shop', profile: 'https', vip: '192.0.2.1', vport: 443, certificates: ['shop.pem'] }],
      ['/farms/shop/services', { id: 'default' }],
      ['/farms/shop/services/default/backends', { ip: '10.0.0.1', port: 80 }],
      ['/farms/shop/services/default/backends', { ip: '10.0.0.2', port: 80 }],
    ]));
  it('has no service where the profile has none', () =>
    expect(farmWrites({ ...typed, profile: 'l4xnat', vport: '80,443' }).map((w) => [w.path, w.body])).toEqual([
      ['/farms', { farmname: 'shop', profile: 'l4xnat', vip: '192.0.2.1', vport: '80,443' }],
      ['/farms/shop/backends', { ip: '10.0.0.1', port: 80 }],
      ['/farms/shop/backends', { ip: '10.0.0.2', port: 80 }],
    ]));
  it('has a zone where it answers for names, if one was typed', () => {
    const names = { ...typed, farmname: 'names', profile: 'gslb' as const, vport: '53' };
    expect(farmWrites(names).map((w) => w.path)).toEqual(['/farms']);
    expect(farmWrites({ ...names, zone: ' example.com ' }).slice(1).map((w) => [w.path, w.body])).toEqual([['/farms/names/zones', { id: 'example.com' }]]);
    expect(newFarm({ ...names, zone: 'example.com' }, '').command.split('\n')).toEqual(['sluice farm create names profile=gslb vip=192.0.2.1 vport=53', 'sluice zone create names example.com']);
  });
  it('has an equal on the command line', () =>
    expect(newFarm(typed, '').command.split('\n')).toEqual([
      'sluice farm create shop profile=https vip=192.0.2.1 vport=443 certificates=shop.pem',
      'sluice service create shop default',
      'sluice backend create shop default ip=10.0.0.1 port=80',
      'sluice backend create shop default ip=10.0.0.2 port=80',
    ]));
});
