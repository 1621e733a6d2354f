import { Text, useComputedColorScheme } from '@mantine/core';
import { useElementSize } from '@mantine/hooks';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';

export type Line = { name: string; values?: (number | null)[] | null };
/** An event, in seconds since 1970. */
export type Mark = { at: number; bad: boolean };
export type Range = { from: number; to: number };

type Props = {
  title: string;
  start: string;
  step: number;
  lines: Line[];
  /** The same series a day before. */
  before: Line[];
  marks: Mark[];
  zoom: (range: Range) => void;
  write: (n: number | null | undefined) => string;
};

/** Chart draws series over time with events, and reports the range that the user selects by dragging. */
export function Chart({ title, start, step, lines, before, marks, zoom, write }: Props) {
  const { t } = useTranslation();
  const { ref, width } = useElementSize();
  const place = useRef<HTMLDivElement>(null);
  const dark = useComputedColorScheme('light') === 'dark';
  const first = Date.parse(start) / 1000;
  const known = [...lines, ...before].some((l) => l.values?.some((v) => v !== null));
  const length = known ? (lines[0]?.values?.length ?? 0) : 0;
  useEffect(() => {
    if (!place.current || width === 0 || length === 0) return;
    const ink = dark ? '#c9c9c9' : '#495057';
    const grid = { stroke: dark ? '#3a3a3a' : '#e9ecef', width: 1 };
    const colours = dark ? ['#3bc9db', '#ffa94d'] : ['#0b7285', '#d9480f'];
    const times = Array.from({ length }, (_, i) => first + i * step);
    const plot = new uPlot(
      {
        width,
        height: 160,
        legend: { show: lines.length > 1 || before.length > 0, live: false },
        cursor: { drag: { x: true, y: false, setScale: false } },
        axes: [
          { stroke: ink, grid },
          { stroke: ink, grid, size: 64, values: (_, ticks) => ticks.map(write) },
        ],
        series: [
          {},
          ...lines.map((l, i) => ({ label: l.name, stroke: colours[i], width: 1.5 })),
          ...before.map((l, i) => ({ label: `${l.name}, ${t('charts.before')}`, stroke: colours[i], width: 1, dash: [4, 4] })),
        ],
        scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.1 : 1] } },
        hooks: {
          draw: [(u) => drawMarks(u, marks, dark)],
          setSelect: [
            (u) => {
              if (u.select.width > 4) zoom({ from: u.posToVal(u.select.left, 'x'), to: u.posToVal(u.select.left + u.select.width, 'x') });
            },
          ],
        },
      },
      [times, ...[...lines, ...before].map((l) => fitted(l.values ?? [], length))] as uPlot.AlignedData,
      place.current,
    );
    return () => plot.destroy();
  }, [width, dark, first, step, length, lines, before, marks, zoom, write, t]);
  return (
    <div ref={ref} role="group" aria-label={title}>
      <Text size="sm" fw={600}>
        {title}
      </Text>
      {length === 0 ? (
        <Text c="dimmed" size="sm">
          {t('charts.none')}
        </Text>
      ) : (
        <div ref={place} />
      )}
    </div>
  );
}

/** Pads values to the length of the axis. */
function fitted(values: (number | null)[], length: number): (number | null)[] {
  return values.length >= length ? values.slice(0, length) : [...values, ...Array<null>(length - values.length).fill(null)];
}

/** A vertical line for each event, red for failures. */
function drawMarks(u: uPlot, marks: Mark[], dark: boolean) {
  const { ctx, bbox } = u;
  const { min = 0, max = 0 } = u.scales.x;
  ctx.save();
  ctx.setLineDash([2, 3]);
  for (const m of marks) {
    if (m.at < min || m.at > max) continue;
    const x = Math.round(u.valToPos(m.at, 'x', true));
    ctx.strokeStyle = m.bad ? (dark ? '#ff8787' : '#c92a2a') : dark ? '#adb5bd' : '#868e96';
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}
