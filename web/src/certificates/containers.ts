/** The first byte of a file identifies its format: 30 starts every DER object. */
const der = 0x30;

/**
 * The first byte within the sequence of an object: the version of a key or a container, or a sequence, e.g. in
 * certificates.
 */
function start(bytes: Uint8Array): [tag: number, value: number] {
  const length = bytes[1];
  const at = 2 + (length > 0x80 ? length - 0x80 : 0);
  return [bytes[at], bytes[at + 2]];
}

/** Whether a file is PKCS #12: an object of version 3. */
export function isPKCS12(bytes: Uint8Array): boolean {
  const [tag, version] = start(bytes);
  return bytes[0] === der && tag === 2 && version === 3;
}

/** The content of a file in base64. */
export function base64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** A file as PEM: DER is converted to a certificate or a key, other files are unchanged. */
export function asPEM(bytes: Uint8Array): string {
  if (bytes[0] !== der) return new TextDecoder().decode(bytes);
  const kind = start(bytes)[0] === 2 ? 'PRIVATE KEY' : 'CERTIFICATE';
  const lines = base64(bytes).match(/.{1,64}/g) ?? [];
  return [`-----BEGIN ${kind}-----`, ...lines, `-----END ${kind}-----`].join('\n');
}
