import { describe, expect, it, vi } from 'vitest';
import { applyBackup, createBackup } from './actions';

vi.stubGlobal('location', { origin: 'https://appliance' });

describe('backups', () => {
  it('show no passphrase', () => {
    const change = createBackup({ name: 'monday', passphrase: 'correct horse battery' }, '');
    expect(change.command).toBe('sluice backup create monday --passphrase');
    expect(change.call).toContain('{"name":"monday","passphrase":"…"}');
    expect(change.call + change.command).not.toContain('horse');
  });
  it('are applied as the command line does', () => {
    expect(applyBackup('monday', { force: 'true', system: 'false' }, '').command).toBe('sluice backup apply monday --force --system=false');
    expect(applyBackup('monday', {}, '').call).toContain('{"action":"apply"}');
  });
});
