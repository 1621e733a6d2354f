import { join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

// Checks for two mistakes that TypeScript accepts. Each leads to a blank page or to an error that nobody sees.

const folder = import.meta.dirname;
const config = ts.parseJsonConfigFileContent(ts.readConfigFile(join(folder, '../tsconfig.json'), ts.sys.readFile).config, ts.sys, join(folder, '..'));

type Found = { effects: string[]; promises: string[] };

/**
 * Promises that never reject, or whose rejection is handled elsewhere: queries keep their error, the router shows it on
 * the page, and boundaries show errors of lazy parts.
 */
const settled = new Set(['invalidateQueries', 'resetQueries', 'refetch', 'fetchNextPage', 'go', 'navigate', 'preload']);

function find(program: ts.Program, file: ts.SourceFile): Found {
  const checker = program.getTypeChecker();
  const found: Found = { effects: [], promises: [] };
  const place = (node: ts.Node) => `${file.fileName.split('/src/').at(-1)}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${node.getText().slice(0, 80)}`;
  const isPromise = (node: ts.Expression) => {
    const type = checker.getTypeAtLocation(node);
    return (type.isUnion() ? type.types : [type]).some((t) => t.getProperty('then') !== undefined);
  };
  const handled = (node: ts.Expression): boolean => {
    if (!ts.isCallExpression(node)) return false;
    const called = node.expression;
    const name = ts.isPropertyAccessExpression(called) ? called.name.text : ts.isIdentifier(called) ? called.text : '';
    if (settled.has(name) || name === 'catch' || (name === 'then' && node.arguments.length === 2)) return true;
    return (name === 'then' || name === 'finally') && ts.isPropertyAccessExpression(called) && handled(called.expression);
  };
  /** Whether the caller of a function discards its result. */
  const forgets = (node: ts.ArrowFunction) => {
    const returned = checker.getContextualType(node)?.getNonNullableType().getCallSignatures().map((s) => s.getReturnType().flags);
    return returned !== undefined && returned.length > 0 && returned.every((flags) => flags & ts.TypeFlags.Void);
  };
  const effect = (callback: ts.Node | undefined) => {
    if (!callback || !(ts.isArrowFunction(callback) || ts.isFunctionExpression(callback))) return;
    if (!ts.isBlock(callback.body)) return void found.effects.push(place(callback.body));
    const look = (node: ts.Node): void => {
      if (ts.isFunctionLike(node)) return;
      if (ts.isReturnStatement(node) && node.expression && !ts.isFunctionLike(node.expression)) found.effects.push(place(node));
      ts.forEachChild(node, look);
    };
    look(callback.body);
  };
  const dropped = (node: ts.Expression): void => {
    if (ts.isParenthesizedExpression(node)) return dropped(node.expression);
    if (ts.isVoidExpression(node)) return dropped(node.expression);
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.CommaToken) return dropped(node.left), dropped(node.right);
    if (isPromise(node) && !handled(node)) found.promises.push(place(node));
  };
  const walk = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && /^use(Layout|Insertion)?Effect$/.test(node.expression.getText().split('.').at(-1)!)) effect(node.arguments[0]);
    if (ts.isArrowFunction(node) && !ts.isBlock(node.body) && isPromise(node.body) && forgets(node) && !handled(node.body)) found.promises.push(place(node));
    if (ts.isExpressionStatement(node)) dropped(node.expression);
    else if (ts.isVoidExpression(node) && !ts.isExpressionStatement(node.parent)) dropped(node.expression);
    ts.forEachChild(node, walk);
  };
  walk(file);
  return found;
}

const program = ts.createProgram(config.fileNames.filter((f) => !f.includes('.test.')), { ...config.options, noEmit: true });
const all = program
  .getSourceFiles()
  .filter((f) => f.fileName.includes('/web/src/') && !f.isDeclarationFile)
  .map((f) => find(program, f));

describe('the sources', () => {
  it('are all looked at', () => expect(all.length).toBeGreaterThan(100));
  // React calls the value that an effect returns when the component unmounts. Anything but a function breaks the page.
  it('return nothing but functions from effects', () => expect(all.flatMap((f) => f.effects)).toEqual([]));
  it('handle the failure of every promise', () => expect(all.flatMap((f) => f.promises)).toEqual([]));
});
