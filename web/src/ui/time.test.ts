import i18next from 'i18next';
import { beforeAll, describe, expect, it } from 'vitest';
import { machineTime } from './time';

describe('a date of the appliance', () => {
  beforeAll(async () => void (await i18next.init({ lng: 'de' })));
  it('is written in the language of the reader, as late as it says', () => expect(machineTime('Mon Nov 30 00:09:42 2026')).toBe('30.11.26, 00:09:42'));
  it('stays as it is when it is no date', () => expect(machineTime('never')).toBe('never'));
});
