import type { Settings } from '../api/fields';
import { settings, write, type Change } from '../change/change';

/** A backend; service is null for farms without services. */
export type Target = { farm: string; service: string | null; backend: number };

/** Takes a backend out of service (drain keeps its sessions, cut ends them), or returns it. */
export function maintenance(of: Target, mode: 'drain' | 'cut' | 'up', title: string): Change {
  const sent = mode === 'up' ? ({ action: 'up' } as const) : ({ action: 'maintenance', mode } as const);
  const { farm, service } = of;
  const backend = String(of.backend);
  const command = ['sluice backend maintenance', farm, ...(service ? [service] : []), backend, mode === 'up' ? '--off' : `--mode ${mode}`].join(' ');
  const parts = service ? ['farms', farm, 'services', service, 'backends', backend, 'maintenance'] : ['farms', farm, 'backends', backend, 'maintenance'];
  return { ...write(title, command, 'PUT', parts, sent), without: mode === 'up' ? undefined : [farm, ...(service ? [service] : []), backend].join('/') };
}

/** Starts, stops or restarts a farm. */
export function action(farm: string, what: 'start' | 'stop' | 'restart', title: string): Change {
  return write(title, `sluice farm ${what} ${farm}`, 'PUT', ['farms', farm, 'actions'], { action: what });
}

/** Deletes the object at a path. */
export function remove(title: string, parts: (string | number)[], command: string): Change {
  return write(title, command, 'DELETE', parts);
}

/** Changes the settings of a farm. */
export function setFarm(farm: string, sent: Settings, title: string): Change {
  return write(title, `sluice farm set ${farm} ${settings(sent)}`, 'PUT', ['farms', farm], sent);
}

/** The path of the backends of a service, or of a farm without services. */
export const backendsAt = (farm: string, service: string | null) => (service ? ['farms', farm, 'services', service, 'backends'] : ['farms', farm, 'backends']);

/** The command-line arguments that identify a backend, or a list of backends. */
const named = (...words: (string | number | null)[]) => words.filter((w) => w !== null).join(' ');

export function createBackend(farm: string, service: string | null, sent: Settings, title: string): Change {
  return write(title, `sluice backend create ${named(farm, service)} ${settings(sent)}`, 'POST', backendsAt(farm, service), sent);
}

export function setBackend(of: Target, sent: Settings, title: string): Change {
  return write(title, `sluice backend set ${named(of.farm, of.service, of.backend)} ${settings(sent)}`, 'PUT', [...backendsAt(of.farm, of.service), of.backend], sent);
}

export function removeBackend(of: Target, title: string): Change {
  return { ...remove(title, [...backendsAt(of.farm, of.service), of.backend], `sluice backend delete ${named(of.farm, of.service, of.backend)}`), without: [of.farm, ...(of.service ? [of.service] : []), of.backend].join('/') };
}

export function createService(farm: string, sent: Settings, title: string): Change {
  const { id, ...rest } = sent;
  return write(title, `sluice service create ${farm} ${String(id)} ${settings(rest)}`.trim(), 'POST', ['farms', farm, 'services'], sent);
}

/** Whether a service of an http farm matches every request, so that later services get none. */
export const takesAll = (s: object) => !('vhost' in s && s.vhost) && !('urlp' in s && s.urlp);

/** Creates a service before the one at a position, as one change. */
export function createServiceAt(farm: string, sent: Settings, position: number, title: string): Change {
  const path = `/farms/${encodeURIComponent(farm)}/services`;
  const id = String(sent.id ?? '');
  const writes = [
    { method: 'POST', path, body: sent },
    { method: 'POST', path: `${path}/${encodeURIComponent(id)}/actions`, body: { position } },
  ];
  const commands = `${createService(farm, sent, title).command}\n${moveService(farm, id, position, title).command}`;
  return write(title, commands, 'POST', ['transactions'], { writes });
}

export function setService(farm: string, service: string, sent: Settings, title: string): Change {
  return write(title, `sluice service set ${farm} ${service} ${settings(sent)}`, 'PUT', ['farms', farm, 'services', service], sent);
}

export function moveService(farm: string, service: string, position: number, title: string): Change {
  return write(title, `sluice service move ${farm} ${service} ${position}`, 'POST', ['farms', farm, 'services', service, 'actions'], { position });
}
