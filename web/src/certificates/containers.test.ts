import { describe, expect, it } from 'vitest';
import { asPEM, isPKCS12 } from './containers';

const bytes = (...list: number[]) => new Uint8Array(list);

describe('files of certificates', () => {
  it('tells PKCS #12 by its version', () => {
    expect(isPKCS12(bytes(0x30, 0x82, 6, 0, 2, 1, 3))).toBe(true);
    expect(isPKCS12(bytes(0x30, 0x20, 2, 1, 3))).toBe(true);
    expect(isPKCS12(bytes(0x30, 0x82, 6, 0, 2, 1, 0))).toBe(false);
    expect(isPKCS12(bytes(0x30, 0x82, 6, 0, 0x30, 0x82, 3))).toBe(false);
    expect(isPKCS12(new TextEncoder().encode('-----BEGIN'))).toBe(false);
    expect(isPKCS12(bytes())).toBe(false);
  });
  it('writes DER as PEM and leaves PEM as it is', () => {
    expect(asPEM(bytes(0x30, 0x82, 6, 0, 0x30, 0x82, 3))).toBe('-----BEGIN CERTIFICATE-----\nMIIGADCCAw==\n-----END CERTIFICATE-----');
    expect(asPEM(bytes(0x30, 0x82, 6, 0, 2, 1, 0))).toContain('BEGIN PRIVATE KEY');
    expect(asPEM(new TextEncoder().encode('-----BEGIN ü'))).toBe('-----BEGIN ü');
  });
});
