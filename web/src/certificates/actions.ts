import type { TFunction } from 'i18next';
import { body, request } from '../api/client';
import type { Settings } from '../api/fields';
import { removes, sets } from '../change/unversioned';
import { quoted, reading, settings, write, type Change } from '../change/change';

export function removeCertificate(file: string, t: TFunction): Change {
  return removes(write(t('certificates.delete', { name: file }), `sluice certificate delete ${quoted(file)}`, 'DELETE', ['certificates', file]), file);
}

/** A certificate as the page knows it. */
export type Known = { fingerprint?: string; previous?: { fingerprint: string } | null };

/** The body of a restore. The appliance rejects it if other certificates than the known ones are concerned. */
const restoring = ({ fingerprint, previous }: Known) => ({ action: 'restore', ...(fingerprint && { fingerprint }), ...(previous && { previous: previous.fingerprint }) });

/** Restores the certificate that was replaced last. */
export function restoreCertificate(file: string, title: string, known: Known = {}): Change {
  return { ...write(title, `sluice certificate restore ${quoted(file)}`, 'POST', ['certificates', file, 'actions'], restoring(known)), unversioned: true };
}

/** Undoes a replacement that was just made, even if names are lost. */
export const undoReplacement = (file: string, made: Known) => body(request('POST', ['certificates', file, 'actions'], restoring(made), { force: 'true' }));

/** Creates a CSR; made gets the CSR from the response. */
export function createRequest(sent: Settings, title: string, made: (csr: string) => void): Change {
  const { name, ...rest } = sent;
  const change = write(title, `sluice certificate csr ${quoted(String(name ?? ''))} ${settings(rest)}`, 'POST', ['certificates'], sent);
  const told = reading(change, (answer) => {
    const csr = (answer as { params?: { csr?: string } } | undefined)?.params?.csr;
    if (csr) made(csr);
  });
  return sets(told, sent);
}

export function removeAuthority(name: string, title: string): Change {
  return removes(write(title, `sluice certificate ca delete ${quoted(name)}`, 'DELETE', ['certificates', 'ca', name]), name);
}

export function removeCRLs(name: string, title: string): Change {
  return removes(write(title, `sluice certificate ca crl ${quoted(name)} --none`, 'DELETE', ['certificates', 'ca', name, 'crl']), `${name}: CRL`);
}

export function setOCSP(sent: Settings, title: string): Change {
  return sets(write(title, `sluice certificate ocsp ${settings(sent)}`, 'PUT', ['certificates', 'ocsp'], sent), sent);
}

export function setACME(sent: Settings, title: string): Change {
  return sets(write(title, `sluice acme config ${settings(sent)}`, 'PUT', [...orders, 'config'], sent), sent);
}

const orders = ['certificates', 'letsencryptz'];

/** The address for challenges of an authority, as flags of the command line. */
const target = (sent: Settings) => ['farmname', 'vip'].filter((n) => sent[n]).map((n) => `--${n} ${quoted(String(sent[n]))}`);

export function order(sent: Settings, title: string): Change {
  const domains = (Array.isArray(sent.domains) ? sent.domains : []).map((d) => quoted(String(d)));
  const flags = [...(sent.challenge === 'dns-01' ? ['--dns'] : []), ...(sent.test === 'true' ? ['--test'] : []), ...target(sent)];
  return sets(write(title, ['sluice acme order', ...domains, ...flags].join(' '), 'POST', orders, sent), sent);
}

export function renew(file: string, force: boolean, title: string): Change {
  const sent = { action: 'renew', ...(force ? { force_renewal: 'true' } : {}) };
  return sets(write(title, `sluice acme renew ${quoted(file)}${force ? ' --force' : ''}`, 'POST', [...orders, file, 'actions'], sent), { renewed: file });
}

/** Changes the renewal of a certificate. The call replaces all settings, so unchanged ones are sent, too. */
export function setRenewal(file: string, seen: Settings, sent: Settings, title: string): Change {
  const now: Settings = { autorenewal: seen.autorenewal, farmname: seen.farmname, vip: seen.vip, ...sent };
  if (sent.farmname && sent.vip === undefined) now.vip = null; // exactly one of the two is set
  if (sent.vip && sent.farmname === undefined) now.farmname = null;
  const body = Object.fromEntries(Object.entries(now).filter(([, v]) => v !== '' && v !== null && v !== undefined));
  const command = ['sluice acme set', quoted(file), `--renew=${String(body.autorenewal)}`, ...target(body)].join(' ');
  return sets(write(title, command, 'PUT', [...orders, file], body), sent);
}

export function removeOrdered(file: string, title: string): Change {
  return removes(write(title, `sluice acme delete ${quoted(file)}`, 'DELETE', [...orders, file]), file);
}
