/** The text of an address and a port: IPv6 addresses are in brackets, and the port is optional. */
export function endpoint(host: string | null | undefined, port?: number | string | null): string {
  if (port === undefined || port === null || port === '' || port === 0) return host ?? '';
  return host?.includes(':') ? `[${host}]:${port}` : `${host ?? ''}:${port}`;
}
