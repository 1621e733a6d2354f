import type { Call } from '../api/rights';
import { quoted, write, type Change } from '../change/change';

/** The fields of the short form. */
export type NewFarm = { farmname: string; profile: 'http' | 'https' | 'l4xnat' | 'gslb'; vip: string; vport: string; backends: string; certificate: string; zone: string };

type Write = { what: 'farm' | 'service' | 'backend' | 'zone'; method: 'POST' | 'PUT'; path: string; body: Record<string, unknown> };

/** The first service of a new farm. */
const service = 'default';

/** A backend as typed: ADDRESS, ADDRESS:PORT or [IPv6]:PORT. */
export function split(line: string): { ip: string; port?: number } | undefined {
  const m = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]]+)|([0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*))(?::(\d{1,5}))?$/i.exec(line.trim());
  if (!m || (m[3] && m[4])) return undefined;
  return { ip: m[1] ?? m[2] ?? m[3], ...(m[4] ? { port: Number(m[4]) } : {}) };
}

/** The writes that create a new farm, in order. */
export function farmWrites(v: NewFarm): Write[] {
  const farm = v.farmname.trim();
  const layer7 = v.profile === 'http' || v.profile === 'https';
  const path = `/farms/${encodeURIComponent(farm)}`;
  const backends = v.backends.split('\n').map(split).filter((b) => b !== undefined);
  const port = /^\d+$/.test(v.vport.trim()) ? Number(v.vport) : v.vport.trim();
  const out: Write[] = [
    { what: 'farm', method: 'POST', path: '/farms', body: { farmname: farm, profile: v.profile, vip: v.vip.trim(), vport: port, ...(v.profile === 'https' && v.certificate ? { certificates: [v.certificate] } : {}) } },
  ];
  if (v.profile === 'gslb') {
    if (v.zone.trim()) out.push({ what: 'zone', method: 'POST', path: `${path}/zones`, body: { id: v.zone.trim() } });
    return out;
  }
  if (layer7) out.push({ what: 'service', method: 'POST', path: `${path}/services`, body: { id: service } });
  for (const body of backends) out.push({ what: 'backend', method: 'POST', path: layer7 ? `${path}/services/${service}/backends` : `${path}/backends`, body });
  return out;
}

/** The call that creates a farm, to check the user's permission. */
export const callOf = (v: NewFarm): Call => ({ method: 'POST', path: '/transactions', writes: farmWrites({ ...v, farmname: v.farmname || 'new' }) });

/** Creates a complete farm as one change. */
export function newFarm(v: NewFarm, title: string): Change {
  const writes = farmWrites(v);
  const lines = [`sluice farm create ${v.farmname} profile=${v.profile} vip=${v.vip} vport=${v.vport}${v.profile === 'https' && v.certificate ? ` certificates=${v.certificate}` : ''}`];
  for (const w of writes.slice(1)) {
    if (w.what === 'zone') lines.push(`sluice zone create ${v.farmname} ${quoted(String(w.body.id))}`);
    else if (w.what === 'service') lines.push(`sluice service create ${v.farmname} ${service}`);
    else lines.push(`sluice backend create ${v.farmname}${v.profile === 'l4xnat' ? '' : ` ${service}`} ip=${String(w.body.ip)}${w.body.port ? ` port=${String(w.body.port)}` : ''}`);
  }
  const sent = { writes: writes.map(({ method, path, body }) => ({ method, path, body })) };
  return write(title, lines.join('\n'), 'POST', ['transactions'], sent);
}
