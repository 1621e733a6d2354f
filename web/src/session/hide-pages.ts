import type { QueryClient } from '@tanstack/react-query';
import { queries } from '../api/queries';
import { setRights } from '../api/rights';
import { forgetTags } from '../api/tags';
import { drafts } from './drafts';

/**
 * Keeps all data until the user signs in again. Hidden pages do not subscribe to their data, and a page without its
 * data would start again and lose unsaved input.
 */
export function keepData(client: QueryClient) {
  for (const query of client.getQueryCache().getAll()) query.setOptions({ ...query.options, gcTime: Infinity });
}

/** Hides the pages until it is known who is signed in. A sign-out that the user wants comes first. */
export function hidePages(client: QueryClient) {
  keepData(client);
  void client.resetQueries({ queryKey: queries.who.queryKey });
}

/** Removes the data of the user whose pages were shown before. All queries have to be reset, too. */
export function forgetUser() {
  drafts.clear();
  forgetTags();
  setRights(undefined);
}
