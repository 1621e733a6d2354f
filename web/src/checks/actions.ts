import type { Settings } from '../api/fields';
import { quoted, settings, write, type Change } from '../change/change';

/** A user of a check: a farm without services, or a service. */
export type Place = { farm: string; service?: string };

/** The appliance's name of such a user: FARM or FARM_SERVICE. Farm names have no underscore. */
export function placeOf(text: string): Place {
  const at = text.indexOf('_');
  return at < 0 ? { farm: text } : { farm: text.slice(0, at), service: text.slice(at + 1) };
}

export const nameOf = ({ farm, service }: Place) => (service === undefined ? farm : `${farm} / ${service}`);

const at = ({ farm, service }: Place) => (service === undefined ? ['farms', farm, 'fg'] : ['farms', farm, 'services', service, 'fg']);
const words = (check: string, { farm, service }: Place) => [check, farm, ...(service === undefined ? [] : [service])].map(quoted).join(' ');

export function createCheck(sent: Settings, title: string): Change {
  const { name, ...rest } = sent;
  return write(title, `sluice check create ${quoted(String(name ?? ''))} ${settings(rest)}`.trim(), 'POST', ['monitoring', 'fg'], sent);
}

export function setCheck(check: string, sent: Settings, title: string): Change {
  return write(title, `sluice check set ${quoted(check)} ${settings(sent)}`, 'PUT', ['monitoring', 'fg', check], sent);
}

export function removeCheck(check: string, title: string): Change {
  return write(title, `sluice check delete ${quoted(check)}`, 'DELETE', ['monitoring', 'fg', check]);
}

export function link(check: string, place: Place, title: string): Change {
  return write(title, `sluice check link ${words(check, place)}`, 'POST', at(place), { name: check });
}

export function unlink(check: string, place: Place, title: string): Change {
  return write(title, `sluice check unlink ${words(check, place)}`, 'DELETE', [...at(place), check]);
}
