import { describe, expect, it, vi } from 'vitest';
import { onConfirmed, tellConfirmed } from './confirmed-tab';

describe('a confirmation at the provider', () => {
  const at = (place: string) => new URL(place, 'https://appliance') as unknown as Location;
  it('reaches the tab that waits for it', async () => {
    const done = vi.fn();
    const end = onConfirmed(done);
    expect(tellConfirmed(at('/gui/?confirmed'))).toBe(true);
    await vi.waitFor(() => expect(done).toHaveBeenCalledTimes(1));
    end();
  });
  it('is told by no other page', () => {
    for (const place of ['/gui/', '/gui/farms?confirmed', '/gui/?x']) expect(tellConfirmed(at(place))).toBe(false);
  });
});
