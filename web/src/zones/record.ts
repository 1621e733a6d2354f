import type { Settings } from '../api/fields';

/** A record as typed. */
export type Typed = { rname: string; type: string; ttl: string; rdata: string; comment: string };

/** Example values by record type. */
export const shapes: { [type: string]: string } = {
  A: '192.0.2.10',
  AAAA: '2001:db8::10',
  CNAME: 'www',
  NS: 'ns1',
  MX: '10 mail',
  SRV: '10 5 5060 sip',
  TXT: '"v=spf1 -all"',
  PTR: 'www.example.com.',
  CAA: '0 issue "letsencrypt.org"',
  HTTPS: '1 . alpn=h2',
  SVCB: '1 svc alpn=h2',
  TLSA: '3 1 1 …',
  DS: '12345 13 2 …',
  SSHFP: '4 2 …',
  DNAME: 'example.net.',
  HINFO: '"ARM" "Linux"',
  LOC: '48 8 N 11 34 E 520m',
  URI: '10 1 "https://www.example.com/"',
  CERT: 'PKIX 0 0 …',
  NAPTR: '10 10 "S" "SIP+D2U" "" _sip._udp',
};

/** Converts a text to a number if possible. Other text is sent unchanged: the appliance reports the error. */
function seconds(text: string): number | string | null {
  if (text.trim() === '') return null;
  return /^\d+$/.test(text.trim()) ? Number(text) : text.trim();
}

/** The changed fields of a record; for a new one the required fields and the typed ones. */
export function recordBody(before: Typed | undefined, now: Typed): Settings {
  const body: Settings = before ? {} : { rname: now.rname.trim(), type: now.type, rdata: now.rdata.trim() };
  for (const name of ['rname', 'type', 'rdata', 'comment'] as const) {
    if (before ? before[name] !== now[name] : name === 'comment' && now[name] !== '') body[name] = now[name].trim();
  }
  if ((before?.ttl ?? '') !== now.ttl) body.ttl = seconds(now.ttl);
  return body;
}
