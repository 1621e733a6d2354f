/** As many revisions are asked for at once. */
export const revisionsOfPage = 100;

/** Where the next page of revisions begins, by the numbers of the one before; none after a page that is not full, or ends with the first revision. */
export function olderThan(numbers: number[]): number | undefined {
  const oldest = Math.min(...numbers);
  return numbers.length < revisionsOfPage || oldest <= 1 ? undefined : oldest;
}
