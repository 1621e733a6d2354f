import { api } from '../api/client';
import { call, type Change } from '../change/change';

/** Which backend is meant; service is null for farms without services. */
export type Target = { farm: string; service: string | null; backend: number };

/** Takes a backend out of use (drain keeps its sessions, cut ends them), or into use again. */
export function maintenance(of: Target, mode: 'drain' | 'cut' | 'up', title: string): Change {
  const sent = mode === 'up' ? ({ action: 'up' } as const) : ({ action: 'maintenance', mode } as const);
  const { farm, service } = of;
  const backend = String(of.backend);
  const command = ['sluice backend maintenance', farm, ...(service ? [service] : []), backend, mode === 'up' ? '--off' : `--mode ${mode}`].join(' ');
  const parts = service ? ['farms', farm, 'services', service, 'backends', backend, 'maintenance'] : ['farms', farm, 'backends', backend, 'maintenance'];
  return {
    title,
    command,
    without: mode === 'up' ? undefined : [farm, ...(service ? [service] : []), backend].join('/'),
    call: call('PUT', parts, sent),
    send: (query) =>
      service
        ? api.PUT('/farms/{farm}/services/{service}/backends/{backend}/maintenance', { params: { path: { farm, service, backend }, query }, body: sent })
        : api.PUT('/farms/{farm}/backends/{backend}/maintenance', { params: { path: { farm, backend }, query }, body: sent }),
  };
}

/** Starts, stops or restarts a farm. */
export function action(farm: string, what: 'start' | 'stop' | 'restart', title: string): Change {
  const sent = { action: what };
  return {
    title,
    command: `sluice farm ${what} ${farm}`,
    call: call('PUT', ['farms', farm, 'actions'], sent),
    send: (query) => api.PUT('/farms/{farm}/actions', { params: { path: { farm }, query }, body: sent }),
  };
}
