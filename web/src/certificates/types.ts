import type { components } from '../api/schema';

/** A certificate, or a CSR. */
export type Certificate = components['schemas']['CertificateItem'];

/** A list of authorities. */
export type Authority = components['schemas']['AuthorityItem'];

/** A certificate that was ordered. */
export type Ordered = components['schemas']['OrderedItem'];
