import type { Settings } from '../api/fields';
import { removes, sets } from '../change/unversioned';
import { call, quoted, reading, settings, write, type Change } from '../change/change';

/** Changes settings of the appliance that are outside the configuration. */
export function setGlobal(sent: Settings, title: string): Change {
  return sets(write(title, `sluice system config ${settings(sent)}`, 'PUT', ['system', 'global'], sent), sent);
}

/** Changes a section of the machine's settings. */
export function setMachine(section: string, sent: Settings, title: string): Change {
  return write(title, `sluice system ${section} ${settings(sent)}`, 'POST', ['system', section], sent);
}

/** Objects that can have an alias. */
export type AliasKind = 'backends' | 'interfaces';

export function setAlias(kind: AliasKind, id: string, alias: string, title: string): Change {
  return write(title, `sluice alias set ${quoted(id)} ${quoted(alias)}`, 'PUT', ['aliases', kind, id], { alias });
}

export function createAlias(kind: AliasKind, sent: Settings, title: string): Change {
  return write(title, `sluice alias set ${quoted(String(sent.id ?? ''))} ${quoted(String(sent.alias ?? ''))}`, 'POST', ['aliases', kind], sent);
}

export function removeAlias(kind: AliasKind, id: string, title: string): Change {
  return write(title, `sluice alias delete ${quoted(id)}`, 'DELETE', ['aliases', kind, id]);
}

/** A change whose passphrase is masked. */
function withSecret(title: string, command: string, parts: string[], sent: Settings): Change {
  const shown = sent.passphrase ? { ...sent, passphrase: '…' } : sent;
  return sets({ ...write(title, command + (sent.passphrase ? ' --passphrase' : ''), 'POST', parts, sent), call: call('POST', parts, shown) }, shown);
}

export function createBackup(sent: Settings, title: string): Change {
  return withSecret(title, `sluice backup create ${quoted(String(sent.name ?? ''))}`, ['system', 'backup'], sent);
}

/** Restores a backup. The difference shows changes of the configuration only. */
export function applyBackup(name: string, sent: Settings, title: string): Change {
  const flags = [...(sent.force === 'true' ? [' --force'] : []), ...(sent.system === 'false' ? [' --system=false'] : [])].join('');
  const change = withSecret(title, `sluice backup apply ${quoted(name)}${flags}`, ['system', 'backup', name, 'actions'], { action: 'apply', ...sent });
  const shown = reading(change, (answer, query) => {
    const diff = (answer as { params?: { diff?: string } } | undefined)?.params?.diff;
    if (query.dry_run && diff) shown.difference = diff;
  });
  shown.difference = `+ ${name}`;
  shown.match = undefined; // the version of the backup list does not cover the configuration
  return shown;
}

export function removeGeoip(title: string): Change {
  return removes(write(title, 'sluice geoip delete', 'DELETE', ['system', 'geoip']), 'GeoIP');
}

export function removeBackup(name: string, title: string): Change {
  return removes(write(title, `sluice backup delete ${quoted(name)}`, 'DELETE', ['system', 'backup', name]), name);
}
