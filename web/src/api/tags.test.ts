import { beforeEach, describe, expect, it } from 'vitest';
import { forgetTags, noteTag, noteWrite, tagOf } from './tags';

const response = (tag?: string, status = 200) => new Response('{}', { status, headers: tag ? { ETag: tag } : {} });

describe('the tag of a write', () => {
  beforeEach(() => {
    forgetTags();
    noteTag('/farms/shop', response('"7.a"'));
    noteTag('/farms/a%2Fb', response('"7.b"'));
    noteTag('/farms/shop/zones/%40', response('"7.r"'));
  });
  it.each([
    [['farms', 'shop'], '"7.a"'],
    [['farms', 'shop', 'addheader', 0], '"7.a"'],
    [['farms', 'a/b', 'actions'], '"7.b"'],
    [['farms', 'shop', 'zones', '.', 'import'], '"7.r"'],
    [['farms', 'shop2'], undefined],
    [['farms'], undefined],
  ])('of %j is that of the nearest resource', (parts, want) => expect(tagOf(parts)).toBe(want));
  it('is of the resource itself where that is shown', () => {
    noteTag('/farms/shop/zones', response('"8.c"'));
    expect(tagOf(['farms', 'shop', 'zones', 'x'])).toBe('"8.c"');
  });
  it('does not come from refusals, or from answers without one', () => {
    noteTag('/farms/shop', response('"9.x"', 403));
    noteTag('/farms/shop', response());
    expect(tagOf(['farms', 'shop'])).toBe('"7.a"');
  });
  it('is the new revision after a write of one’s own, of that farm alone', () => {
    noteTag('/farms/shop/zones', response('"8.c"'));
    noteWrite(['farms', 'shop', 'addheader', 0], response('"9"'));
    expect([['farms', 'shop'], ['farms', 'shop', 'zones'], ['farms', 'a/b']].map(tagOf)).toEqual(['"9.0"', '"9.0"', '"7.b"']);
  });
  it('is not known after a write of what has no revision', () => {
    noteTag('/certificates', response('"3.c"'));
    noteTag('/certificates2', response('"3.d"'));
    noteWrite(['certificates', 'x.pem'], response());
    expect([tagOf(['certificates', 'x.pem']), tagOf(['certificates2'])]).toEqual([undefined, '"3.d"']);
  });
});
