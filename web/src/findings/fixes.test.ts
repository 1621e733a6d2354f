import type { TFunction } from 'i18next';
import { describe, expect, it, vi } from 'vitest';
import { fixes, type Finding } from './fixes';

vi.stubGlobal('location', { origin: 'https://appliance' });
const t = ((key: string) => key) as unknown as TFunction;
const of = (f: Partial<Finding>) => fixes({ severity: 'warning', message: '', evidence: '', advice: '', farm: 'shop', ...f } as Finding, t).map((c) => c.command);

describe('a finding is mended by', () => {
  it.each<[Partial<Finding>, string[]]>([
    [{ code: 'service-shadowed', service: 'api' }, ['sluice service move shop api 0', 'sluice service delete shop api']],
    [{ code: 'service-empty', service: 'api' }, ['sluice service delete shop api']],
    [{ code: 'backend-down', service: 'api', backend: 0 }, ['sluice backend maintenance shop api 0 --mode drain', 'sluice backend delete shop api 0']],
    [{ code: 'backend-down', backend: 1 }, ['sluice backend maintenance shop 1 --mode drain', 'sluice backend delete shop 1']],
    [{ code: 'backend-unasked', backend: 1 }, ['sluice backend maintenance shop 1 --mode drain', 'sluice backend delete shop 1']],
    [{ code: 'name-gone', backend: 1 }, ['sluice backend maintenance shop 1 --mode drain', 'sluice backend delete shop 1']],
    [{ code: 'addresses-unused', backend: 1 }, []],
    [{ code: 'certificate-name-missing', certificate: 'a.pem' }, ['sluice certificate restore a.pem']],
    [{ code: 'certificate-name-missing' }, []],
    [{ code: 'certificate-hidden', certificate: 'a.pem' }, ['sluice certificate remove shop a.pem']],
    [{ code: 'setting-idle', field: 'ttl', service: 'api' }, ['sluice service set shop api ttl=null']],
    [{ code: 'setting-idle', field: 'mark' }, ['sluice farm set shop mark=null']],
    [{ code: 'setting-idle', field: 'priority', backend: 2 }, ['sluice backend set shop 2 priority=null']],
    [{ code: 'certificate-expires', certificate: 'a.pem', farm: undefined }, []],
    [{ code: 'services-uncompared' }, []],
  ])('%o', (f, want) => expect(of(f)).toEqual(want));
});
