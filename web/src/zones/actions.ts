import { pathOf } from '../api/client';
import type { Settings } from '../api/fields';
import { upload } from '../api/files';
import { tagOf } from '../api/tags';
import { quoted, settings, write, type Change } from '../change/change';
import type { Record } from './types';

const zoneAt = (farm: string, zone: string) => ['farms', farm, 'zones', zone];
const recordsAt = (farm: string, zone: string) => [...zoneAt(farm, zone), 'resources'];

export function createZone(farm: string, sent: Settings, title: string): Change {
  const { id, ...rest } = sent;
  return write(title, `sluice zone create ${farm} ${quoted(String(id))} ${settings(rest)}`.trim(), 'POST', ['farms', farm, 'zones'], sent);
}

export function setZone(farm: string, zone: string, sent: Settings, title: string): Change {
  return write(title, `sluice zone set ${farm} ${zone} ${settings(sent)}`, 'PUT', zoneAt(farm, zone), sent);
}

export function removeZone(farm: string, zone: string, title: string): Change {
  return write(title, `sluice zone delete ${farm} ${zone}`, 'DELETE', zoneAt(farm, zone));
}

export function createRecord(farm: string, zone: string, sent: Settings, title: string): Change {
  const { rname, type, rdata, ...rest } = sent;
  const value = String(rdata);
  const words = /^[\w. :/-]+$/.test(value) ? value : quoted(value);
  return write(title, `sluice record create ${farm} ${zone} ${quoted(String(rname))} ${String(type)} ${words} ${settings(rest)}`.trim(), 'POST', recordsAt(farm, zone), sent);
}

export function setRecord(farm: string, zone: string, id: number, sent: Settings, title: string): Change {
  return write(title, `sluice record set ${farm} ${zone} ${id} ${settings(sent)}`, 'PUT', [...recordsAt(farm, zone), id], sent);
}

const keysAt = (farm: string, zone: string) => [...zoneAt(farm, zone), 'keys'];

/** Creates the next signing key of a zone. */
export function addKey(farm: string, zone: string, title: string): Change {
  return write(title, `sluice zone key add ${farm} ${zone}`, 'POST', keysAt(farm, zone), {});
}

/** Makes the next key of a zone the signing one. */
export function activateKey(farm: string, zone: string, key: number, title: string): Change {
  return write(title, `sluice zone key use ${farm} ${zone} ${key}`, 'PUT', [...keysAt(farm, zone), key], { state: 'active' });
}

export function removeKey(farm: string, zone: string, key: number, title: string): Change {
  return write(title, `sluice zone key delete ${farm} ${zone} ${key}`, 'DELETE', [...keysAt(farm, zone), key]);
}

/** The maximum number of records deleted by one call. */
export const mostAtOnce = 10_000;

/** Deletes records as one change. */
export function removeRecords(farm: string, zone: string, records: Record[], title: string): Change {
  const sent = { delete: records.map((r) => r.id) };
  return write(title, `echo '${JSON.stringify(sent)}' | sluice record bulk ${farm} ${zone} -`, 'POST', [...recordsAt(farm, zone), 'bulk'], sent);
}

/** Imports the records of a master file into a zone. They replace its records or, with add, are added. */
export function importZone(farm: string, zone: string, file: string, add: boolean, title: string): Change {
  const parts = [...zoneAt(farm, zone), 'import'];
  const more: { add?: string } = add ? { add: 'true' } : {};
  return {
    title,
    by: { method: 'POST', path: pathOf(parts) },
    parts,
    match: tagOf(parts),
    command: `sluice zone import ${farm} ${zone} FILE${add ? ' --add' : ''}`,
    call: `curl -k -X POST -H "ZAPI_KEY: $KEY" -H 'Content-Type: text/dns' --data-binary @FILE '${location.origin}/api/v4.0${pathOf(parts)}${add ? '?add=true' : ''}'`,
    send: (query, match) => upload('POST', parts, file, 'text/dns', { ...query, ...more }, match),
  };
}
