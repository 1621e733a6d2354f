import type { ReactNode } from 'react';
import { Refused } from '../api/client';
import { Problem } from './problem';

/** NotFound reports that the object of an address does not exist, with a link back. */
export function NotFound({ text, children }: { text: string; children?: ReactNode }) {
  return <Problem error={new Refused(text, 404)}>{children}</Problem>;
}
