/** The number of revisions on a page. */
export const revisionsOfPage = 100;

/**
 * The start of the next page of revisions, given the numbers on the last page. Undefined after a page that is not full
 * or contains the first revision.
 */
export function olderThan(numbers: number[]): number | undefined {
  const oldest = Math.min(...numbers);
  return numbers.length < revisionsOfPage || oldest <= 1 ? undefined : oldest;
}
