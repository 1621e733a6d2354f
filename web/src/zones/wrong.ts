import { Refused } from '../api/client';

/** What is wrong with a field, in the appliance's words without the way to it. */
export type Wrong = { name: string; text: string };

/** Which of these fields was refused, if it was one. Some refusals name it in their words alone. */
export function wrongField(error: unknown, names: readonly string[]): Wrong | undefined {
  if (!(error instanceof Refused)) return undefined;
  const text = error.message.replace(/^farm "[^"]*" zone "[^"]*" record \d+: /, '').replace(/^.*refused by the engine: /, '');
  const name = error.field ?? names.find((n) => text.startsWith(`${n}: `) || text.startsWith(`${n} `));
  if (!name || !names.includes(name)) return undefined;
  return { name, text: text.startsWith(`${name}: `) ? text.slice(name.length + 2) : text };
}

/** What is wrong with a line of a file, which is counted from 1. */
export type WrongLine = { line: number; text: string };

/** The lines a refusal of a file names. */
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
