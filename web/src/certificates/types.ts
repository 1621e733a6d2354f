import type { components } from '../api/schema';

/** A certificate or a CSR. */
export type Certificate = components['schemas']['CertificateItem'];

/** An authority list. */
export type Authority = components['schemas']['AuthorityItem'];

/** An ordered certificate. */
export type Ordered = components['schemas']['OrderedItem'];
