import { describe, expect, it } from 'vitest';
import { match, type Findable } from './match';
import { termsOf } from './terms';

const run = () => undefined;
const page = (word: string): Findable => ({ label: word, hint: 'page', terms: termsOf(word), run });
const all: Findable[] = [page('nav.farms'), page('nav.checks'), page('nav.certificates'), page('nav.system'), page('palette.new_farm'), { label: 'bindery', hint: 'http 192.0.2.1:80', run }];
const found = (text: string) => match(all, text).map((a) => a.label);

describe('the palette', () => {
  it('finds the letters of a name and of its hint', () => {
    expect(found('CHECKS')).toEqual(['nav.checks']);
    expect(found('192.0.2.1')).toEqual(['bindery']);
    expect(found('')).toHaveLength(all.length);
  });
  it.each([
    ['upstream', ['nav.farms']],
    ['proxy_pass', ['nav.farms']],
    ['timeout connect', ['nav.farms']],
    ['stick_table', ['nav.farms']],
    ['option httpchk', ['nav.checks']],
    ['rise', ['nav.checks']],
    ['ssl_certificate', ['nav.certificates']],
    ['resolvers', ['nav.farms', 'nav.system']],
    ['frontend', ['nav.farms', 'palette.new_farm']],
  ])('leads from %s to our page', (term, pages) => expect(found(term)).toEqual(pages));
  it('shows names before terms', () => expect(found('bind')).toEqual(['bindery', 'nav.farms', 'palette.new_farm']));
  it('forgives a typo, but suggests nothing else', () => {
    expect(found('upstraem')).toEqual(['nav.farms']);
    expect(found('bindary')).toEqual(['bindery']);
    expect(found('quixotic')).toEqual([]);
    expect(found('zz')).toEqual([]);
  });
});
