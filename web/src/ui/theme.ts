import { createTheme } from '@mantine/core';

/** Shades with enough contrast for text on both backgrounds (WCAG 2.1 AA). */
export const theme = createTheme({
  primaryColor: 'cyan',
  primaryShade: { light: 9, dark: 9 },
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace',
  headings: { fontFamily: 'inherit', fontWeight: '650' },
});

/** An orange with enough contrast for white text, in contrast to those of the palette. */
export const darkOrange = '#b34700';
