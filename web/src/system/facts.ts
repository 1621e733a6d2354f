import type { TFunction } from 'i18next';
import type { Settings } from '../api/fields';
import { decimal } from '../ui/decimal';
import { count } from '../ui/numbers';

type Delivery = { server: string; sent: number; waiting: number; dropped: number; problem?: string };

/** Additional data of a section: the stored settings, the current state, and messages of the machine. */
export function knownOf(section: string, seen: Settings, t: TFunction): [string, string | undefined][] {
  const text = (name: string) => (seen[name] === undefined || seen[name] === '' ? undefined : String(seen[name]));
  const facts: [string, string | undefined][] = [[t('machine.state'), t(`machine.is_${String(seen.configured)}_${String(seen.actual)}`, { defaultValue: `${String(seen.configured)}, ${String(seen.actual)}` })]];
  switch (section) {
    case 'dns':
      facts.push([t('machine.in_force'), (seen.in_force as string[] | undefined)?.join(', ')], [t('machine.managed_by'), text('managed_by')]);
      break;
    case 'ntp':
      facts.push([t('machine.service'), text('service')], [t('machine.synchronised'), t(`machine.sync_${String(seen.synchronised)}`)], [t('machine.source'), text('source')]);
      if (typeof seen.offset === 'number') facts.push([t('machine.offset'), `${decimal(seen.offset * 1000, 1)} ms`]);
      break;
    case 'snmp':
      facts.push([t('machine.agent'), text('agent')]);
      break;
    case 'http':
      facts.push([t('machine.listens'), text('listens')]);
      break;
    case 'syslog':
      for (const d of (seen.delivery as Delivery[] | undefined) ?? []) {
        facts.push([d.server, [t('machine.sent', { sent: count(d.sent), waiting: count(d.waiting), dropped: count(d.dropped) }), d.problem].filter(Boolean).join(' · ')]);
      }
  }
  return facts;
}
