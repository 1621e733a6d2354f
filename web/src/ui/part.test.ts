import { describe, expect, it } from 'vitest';
import { Part, PartMissing, retryParts } from './part';

/** A part whose file loads only at the given attempts. */
function flaky(comes: (attempt: number) => boolean) {
  let attempts = 0;
  const part = new Part(
    () => (comes(++attempts) ? Promise.resolve('drawn') : Promise.reject(new TypeError('Failed to fetch dynamically imported module'))),
    () => Promise.resolve('unreachable'),
  );
  return { part, attempts: () => attempts };
}

describe('a part of the GUI', () => {
  it('is loaded once', async () => {
    const { part, attempts } = flaky(() => true);
    await Promise.all([part.begin(), part.preload(), part.begin()]);
    await part.begin();
    expect([part.value, part.failure, attempts()]).toEqual(['drawn', undefined, 1]);
  });
  it('is asked for once more at once', async () => {
    const { part } = flaky((n) => n > 1);
    await part.begin();
    expect([part.value, part.failure]).toEqual(['drawn', undefined]);
  });
  it('says why it is missing, and is not asked for again by every drawing', async () => {
    const { part, attempts } = flaky(() => false);
    await part.begin();
    await part.begin();
    expect(part.failure).toBeInstanceOf(PartMissing);
    expect([part.failure?.because, part.failure?.message, attempts()]).toEqual(['unreachable', 'Failed to fetch dynamically imported module', 2]);
  });
  it('is loaded when it is tried again', async () => {
    const { part, attempts } = flaky((n) => n > 2);
    await part.begin();
    retryParts();
    expect(part.failure).toBeUndefined();
    await part.begin();
    expect([part.value, attempts()]).toEqual(['drawn', 3]);
  });
  it('is loaded when somebody goes there again', async () => {
    const { part } = flaky((n) => n > 2);
    await part.preload();
    await part.preload();
    expect([part.value, part.failure]).toEqual(['drawn', undefined]);
  });
  it('stays when others are tried again', async () => {
    const { part, attempts } = flaky(() => true);
    await part.begin();
    retryParts();
    await part.begin();
    expect(attempts()).toBe(1);
  });
});
