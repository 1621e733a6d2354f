import { Group, Text, type MantineColor } from '@mantine/core';
import { useTranslation } from 'react-i18next';

type Look = { colour: MantineColor; path: string };

const disc = 'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1z';
const ring = `${disc}M6 3.5a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5z`;
const square = 'M1.5 1.5h9v9h-9z';
const outline = 'M1.5 1.5h9v9h-9zM3.5 3.5v5h5v-5z';
const diamond = 'M6 0l6 6-6 6-6-6z';
const triangle = 'M6 .5l6 11H0z';
const bars = 'M2 1h3v10H2zM7 1h3v10H7z';

/** Each state has a colour, a shape and a word, so that colours are not required. */
const looks: Record<string, Look> = {
  up: { colour: 'var(--mantine-color-green-7)', path: disc },
  down: { colour: 'light-dark(var(--mantine-color-red-8), var(--mantine-color-red-5))', path: square },
  critical: { colour: 'light-dark(var(--mantine-color-orange-8), var(--mantine-color-orange-5))', path: diamond },
  problem: { colour: 'light-dark(var(--mantine-color-orange-8), var(--mantine-color-orange-5))', path: triangle },
  maintenance: { colour: 'light-dark(var(--mantine-color-blue-7), var(--mantine-color-blue-4))', path: bars },
  stopped: { colour: 'var(--mantine-color-dimmed)', path: outline },
  'needed restart': { colour: 'light-dark(var(--mantine-color-orange-8), var(--mantine-color-orange-5))', path: triangle },
};
const unknown: Look = { colour: 'var(--mantine-color-dimmed)', path: ring };

/** The order of urgency: states that need attention first. */
export const urgency = ['down', 'critical', 'problem', 'needed restart', 'undefined', 'undef', 'maintenance', 'stopped', 'up'];

/** The state of a farm. A stopped farm is distinguished from a failed one, and from one whose start was refused. */
export const stateOf = (f: { status: string; configured?: string; problem?: string }) => (f.configured === 'down' && f.status === 'down' && !f.problem ? 'stopped' : f.status);

export function byUrgency(a: string, b: string): number {
  const place = (s: string) => (urgency.includes(s) ? urgency.indexOf(s) : urgency.indexOf('undefined'));
  return place(a) - place(b);
}

export function State({ of, text = true }: { of: string; text?: boolean }) {
  const { t } = useTranslation();
  const look = looks[of] ?? unknown;
  const word = t(`state.${of.replace(' ', '_')}`, { defaultValue: of });
  return (
    <Group gap={6} wrap="nowrap" component="span" display="inline-flex">
      <svg width="12" height="12" viewBox="0 0 12 12" role={text ? undefined : 'img'} aria-label={text ? undefined : word} aria-hidden={text}>
        <path d={look.path} style={{ fill: look.colour }} fillRule="evenodd" />
      </svg>
      {text && (
        <Text span size="sm" className="nowrap">
          {word}
        </Text>
      )}
    </Group>
  );
}
