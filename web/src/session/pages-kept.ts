import type { QueryClient } from '@tanstack/react-query';
import { setRights } from '../api/rights';
import { forgetTags } from '../api/tags';
import { forgetDrafts } from '../form/draft';

/**
 * Keeps all data for as long as it takes to sign in again. Hidden pages do not subscribe to their data, and a page
 * whose data is gone begins again, without the values that were typed.
 */
export function keepData(client: QueryClient) {
  for (const query of client.getQueryCache().getAll()) query.setOptions({ ...query.options, gcTime: Infinity });
}

/** Forgets what belongs to the user whom the pages showed before. All queries have to be reset, too. */
export function forgetUser() {
  forgetDrafts();
  forgetTags();
  setRights(undefined);
}
