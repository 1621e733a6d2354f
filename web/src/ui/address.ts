/** An address and a port as they are written: an IPv6 address stands in brackets, and a backend without a port has none. */
export function endpoint(host: string | null | undefined, port?: number | string | null): string {
  if (port === undefined || port === null || port === '' || port === 0) return host ?? '';
  return host?.includes(':') ? `[${host}]:${port}` : `${host ?? ''}:${port}`;
}
