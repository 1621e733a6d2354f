import type { ReactNode } from 'react';
import { Refused } from '../api/client';
import { Problem } from './problem';

/** Gone says that what an address names does not exist, and leads back to where it was. */
export function Gone({ text, children }: { text: string; children?: ReactNode }) {
  return <Problem error={new Refused(text, 404)}>{children}</Problem>;
}
