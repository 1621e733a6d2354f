import { describe, expect, it } from 'vitest';
import { olderThan, revisionsOfPage } from './pages';

const numbers = (from: number, n: number) => [...Array(n).keys()].map((i) => from - i);

describe('the next page of revisions', () => {
  it('begins below the oldest of a full one', () => expect(olderThan(numbers(250, revisionsOfPage))).toBe(151));
  it('is none after one that is not full', () => expect(olderThan(numbers(50, 50))).toBeUndefined());
  it('is none after the first revision', () => expect(olderThan(numbers(revisionsOfPage, revisionsOfPage))).toBeUndefined());
  it('is none where there are no revisions', () => expect(olderThan([])).toBeUndefined());
});
