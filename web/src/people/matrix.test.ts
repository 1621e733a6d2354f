import { describe, expect, it } from 'vitest';
import { columns, differing, listed, switched, withSwitches } from './matrix';

const role = { farm: { menu: 'true', create: 'false', delete: 'false' }, log: { show: 'true', fly: 'false', menu: 'false' } };

describe('the matrix of permissions', () => {
  it('has every permission once, those nobody ordered last', () => expect(columns(role)).toEqual(['menu', 'show', 'create', 'delete', 'fly']));
  it('sends what differs alone', () => {
    const now = switched(switched(role, 'farm', 'create', true), 'log', 'show', false);
    expect(differing(role, now)).toEqual({ farm: { create: 'true' }, log: { show: 'false' } });
    expect(differing(role, switched(now, 'farm', 'create', false))).toEqual({ log: { show: 'false' } });
    expect(differing(role, role)).toEqual({});
  });
  it('keeps what somebody else switches meanwhile', () => {
    const edits = differing(role, switched(role, 'farm', 'create', true));
    const meanwhile = switched(role, 'log', 'fly', true);
    expect(differing(meanwhile, withSwitches(meanwhile, edits))).toEqual({ farm: { create: 'true' } });
  });
  it('switches a whole section', () => expect(differing(role, switched(role, 'farm', undefined, true))).toEqual({ farm: { create: 'true', delete: 'true' } }));
  it('names permissions as refusals do', () => expect(listed({ farm: { create: 'true', delete: 'false' } })).toEqual([['farm.create', 'true'], ['farm.delete', 'false']]));
});
