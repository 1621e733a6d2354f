import { Refused } from '../api/client';

/** The error of a field: the appliance's text without the path of the field. */
export type Wrong = { name: string; text: string };

/** The refused field, if it is one of these. Some refusals name it only in their text. */
export function wrongField(error: unknown, names: readonly string[]): Wrong | undefined {
  if (!(error instanceof Refused)) return undefined;
  const text = error.message.replace(/^farm "[^"]*" zone "[^"]*" record \d+: /, '').replace(/^.*refused by the engine: /, '');
  const name = error.field ?? names.find((n) => text.startsWith(`${n}: `) || text.startsWith(`${n} `));
  if (!name || !names.includes(name)) return undefined;
  return { name, text: text.startsWith(`${name}: `) ? text.slice(name.length + 2) : text };
}

/** The error of a line of a file; lines are counted from 1. */
export type WrongLine = { line: number; text: string };

/** The lines named in the refusal of a file. */
export function wrongLines(error: unknown): WrongLine[] {
  if (!(error instanceof Refused)) return [];
  return error.message
    .replace(/^the file cannot be imported: /, '')
    .split(/; (?=line \d+: )/)
    .flatMap((said) => {
      const found = /^line (\d+): (.*)$/s.exec(said);
      return found ? [{ line: Number(found[1]), text: found[2] }] : [];
    });
}
