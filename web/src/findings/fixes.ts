import type { TFunction } from 'i18next';
import type { components } from '../api/schema';
import { restoreCertificate } from '../certificates/actions';
import { settings, write, type Change } from '../change/change';
import { backendsAt, maintenance, moveService, remove, removeBackend } from '../farms/actions';

export type Finding = components['schemas']['Finding'];

/** The changes that would fix a finding, the most likely first. Empty if the fix needs a person. */
export function fixes(f: Finding, t: TFunction): Change[] {
  const { farm, service, backend } = f;
  if (!farm) return [];
  switch (f.code) {
    case 'service-shadowed':
      return service ? [moveService(farm, service, 0, t('fix.first', { name: service })), removeService(farm, service, t)] : [];
    case 'service-impossible':
    case 'service-never-hit':
    case 'service-empty':
      return service ? [removeService(farm, service, t)] : [];
    case 'backend-down':
    case 'backend-unasked':
    case 'name-gone':
    case 'backend-unreachable': {
      if (backend === undefined) return [];
      const target = { farm, service: service || null, backend };
      return [maintenance(target, 'drain', t('fix.maintenance', { name: backend })), removeBackend(target, t('fix.backend', { name: backend }))];
    }
    case 'certificate-hidden':
      return f.certificate ? [remove(t('fix.certificate', { name: f.certificate }), ['farms', farm, 'certificates', f.certificate], `sluice certificate remove ${farm} ${f.certificate}`)] : [];
    case 'certificate-name-missing':
      return f.certificate ? [restoreCertificate(f.certificate, t('certificates.restore_of', { name: f.certificate }))] : [];
    case 'setting-idle':
      return f.field ? [reset(f, f.field, t)] : [];
  }
  return [];
}

function removeService(farm: string, service: string, t: TFunction): Change {
  return remove(t('services.delete', { name: service }), ['farms', farm, 'services', service], `sluice service delete ${farm} ${service}`);
}

/** An ineffective setting is reset to its default. */
function reset({ farm = '', service, backend }: Finding, field: string, t: TFunction): Change {
  const sent = { [field]: null };
  const title = t('fix.reset', { name: field });
  if (backend !== undefined) return write(title, `sluice backend set ${[farm, service, backend].filter((w) => w !== undefined && w !== '').join(' ')} ${settings(sent)}`, 'PUT', [...backendsAt(farm, service || null), backend], sent);
  if (service) return write(title, `sluice service set ${farm} ${service} ${settings(sent)}`, 'PUT', ['farms', farm, 'services', service], sent);
  return write(title, `sluice farm set ${farm} ${settings(sent)}`, 'PUT', ['farms', farm], sent);
}
