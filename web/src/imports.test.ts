import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';

type Graph = Map<string, Set<string>>;

const src = import.meta.dirname;

/** The files of the GUI without tests, relative to this folder. */
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((f) => /(?<!\.test|\.d)\.tsx?$/.test(f));

/** The file that an import names; undefined if it is not a source file of the GUI. */
const fileOf = (path: string) => ['.ts', '.tsx'].map((end) => path + end).find((f) => existsSync(join(src, f)));

/** The imports of a file, including types and files that are loaded on demand. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(src, file), 'utf8');
  const paths = [...text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, path]) => normalize(join(dirname(file), path)));
  return paths.map(fileOf).filter((f) => f !== undefined);
}

/** The imports of every file. */
const byFile: Graph = new Map(files.map((f) => [f, new Set(importsOf(f))]));

/** The imports of every folder, without those of the folder itself. */
const byFolder: Graph = new Map();
for (const [file, imports] of byFile) {
  const folder = dirname(file);
  const of = byFolder.get(folder) ?? new Set();
  byFolder.set(folder, of);
  for (const other of imports) if (dirname(other) !== folder) of.add(dirname(other));
}

/** A cycle of a graph, e.g. [a, b, a]; undefined if there is none. */
function cycle(graph: Graph): string[] | undefined {
  const done = new Set<string>();
  const visit = (node: string, path: string[]): string[] | undefined => {
    if (path.includes(node)) return [...path.slice(path.indexOf(node)), node];
    if (done.has(node)) return undefined;
    for (const next of graph.get(node) ?? []) {
      const found = visit(next, [...path, node]);
      if (found) return found;
    }
    done.add(node);
    return undefined;
  };
  for (const node of graph.keys()) {
    const found = visit(node, []);
    if (found) return found;
  }
  return undefined;
}

it('finds a cycle', () => {
  expect(cycle(new Map([['a', new Set(['b'])], ['b', new Set(['c'])], ['c', new Set(['b'])]]))).toEqual(['b', 'c', 'b']);
  expect([...byFile.get('main.tsx')!]).toContain('app.tsx');
});
it('has no cycle of files', () => expect(cycle(byFile)).toBeUndefined());
it('has no cycle of folders', () => expect(cycle(byFolder)).toBeUndefined());
it('has an api that imports no other folder', () => expect([...byFolder.get('api')!]).toEqual([]));
