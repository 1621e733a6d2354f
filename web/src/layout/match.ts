/** A search result: a page, an object or an action. */
export type Findable = { label: string; hint: string; run: () => void; /** Terms of other load balancers that find it, too. */ terms?: string };

/** The largest number of wrong letters in a word, by its length. */
const typos = (word: string) => (word.length < 4 ? 0 : word.length < 8 ? 1 : 2);

/** The entries that have the wanted letters; else those by a term of another load balancer; else those with a typo. */
export function match(all: Findable[], wanted: string): Findable[] {
  const text = wanted.trim().toLowerCase();
  const named = all.filter((a) => `${a.label} ${a.hint}`.toLowerCase().includes(text));
  if (text === '') return named;
  const spelled = text.replaceAll(/[\s_-]+/g, '_');
  const meant = all.filter((a) => !named.includes(a) && a.terms !== undefined && ` ${a.terms} `.replaceAll('-', '_').includes(` ${spelled} `));
  if (named.length + meant.length > 0) return [...named, ...meant];
  return all.filter((a) => `${a.label} ${a.terms ?? ''}`.toLowerCase().split(' ').some((w) => distance(w.replaceAll('-', '_'), spelled) <= typos(spelled)));
}

/** The number of letters to insert, delete or replace. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length] ?? 0;
}
