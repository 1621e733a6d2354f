import type { ErrorComponentProps } from '@tanstack/react-router';
import { Broken } from '../ui/boundary';
import { retryParts } from '../ui/part';

/** RouteFailed replaces a page that failed to render; the menu remains. */
export function RouteFailed({ error, reset }: ErrorComponentProps) {
  return <Broken error={error} again={() => (retryParts(), reset())} />;
}
