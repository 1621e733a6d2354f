import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

type Texts = { [key: string]: string | Texts };

const folder = import.meta.dirname;
const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Texts;

/** Every text by its key, e.g. a.b. */
function flat(words: Texts, at = ''): Map<string, string> {
  const all = new Map<string, string>();
  for (const [key, value] of Object.entries(words)) {
    if (typeof value === 'string') all.set(at + key, value);
    else for (const [k, v] of flat(value, `${at}${key}.`)) all.set(k, v);
  }
  return all;
}

/** All texts of a language, including those of lazily loaded pages. */
const texts = (language: string) => new Map([...flat(read(`${language}.json`)), ...flat(read(`pages.${language}.json`))]);

const english = texts('en');
const holes = (text: string) => [...text.matchAll(/\{\{\w+\}\}/g)].map((m) => m[0]).sort();

describe.each(['es', 'de', 'fr'])('%s', (name) => {
  const words = texts(name);
  it('has every text that English has, and no other', () => expect([...words.keys()].sort()).toEqual([...english.keys()].sort()));
  it('fills in what English fills in', () => {
    for (const [key, text] of words) expect([key, holes(text)]).toEqual([key, holes(english.get(key) ?? '')]);
  });
  it('leaves nothing empty', () => expect([...words].filter(([, text]) => text.trim() === '')).toEqual([]));
});

const sources = readdirSync(join(folder, '..'), { recursive: true, encoding: 'utf8' })
  .filter((f) => /\.tsx?$/.test(f) && !/\.test\.|schema/.test(f))
  .map((f) => readFileSync(join(folder, '..', f), 'utf8'));

describe('what every page has', () => {
  const first = new Set([...flat(read('en.json')).keys()].map((k) => k.split('.')[0]));
  it('needs no text of others', () => {
    const files = ['app.tsx', 'layout', 'session', 'dashboard', 'ui', 'timeline/entries.tsx'];
    const own = readdirSync(join(folder, '..'), { recursive: true, encoding: 'utf8' }).filter((f) => /\.tsx?$/.test(f) && !/\.test\./.test(f) && files.some((start) => f.startsWith(start)));
    const used = own.flatMap((f) => [...readFileSync(join(folder, '..', f), 'utf8').matchAll(/(?:\bt\(|word: )[^)]*?['`]([a-z_]+)\.(?:[a-z_.0-9]+'|\$\{)/g)].map((m) => m[1]));
    expect(used.length).toBeGreaterThan(50);
    expect([...new Set(used)].filter((section) => !first.has(section) && [...english.keys()].some((k) => k.startsWith(`${section}.`)))).toEqual([]);
  });
});

describe('the pages', () => {
  const known = new Set([...english.keys()].map((k) => k.replace(/_(one|other)$/, '')));
  it('use only texts there are', () => {
    const used = sources.flatMap((s) => [...s.matchAll(/\bt\(\s*'([a-z_.0-9]+)'/gi)].map((m) => m[1]));
    expect(used.length).toBeGreaterThan(50);
    expect(used.filter((key) => !known.has(key))).toEqual([]);
  });
  it('use every text there is', () => {
    const all = sources.join('\n');
    const parts = [...all.matchAll(/`([a-z_]+\.)\$\{/g)].map((m) => m[1]); // a text selected by a value
    const unused = [...known].filter((key) => !all.includes(`'${key}'`) && !parts.some((p) => key.startsWith(p)));
    expect(unused).toEqual([]);
  });
});

describe.each(['fields.es.json', 'fields.de.json', 'fields.fr.json'])('%s', (name) => {
  const texts = new Set(JSON.parse(readFileSync(join(folder, 'fields.en.json'), 'utf8')) as string[]);
  const known = read(name) as Record<string, string>;
  it('has every text about fields', () => expect([...texts].filter((text) => !known[text]?.trim())).toEqual([]));
  it('has no other', () => expect(Object.keys(known).filter((text) => !texts.has(text))).toEqual([]));
});
