import { createTheme } from '@mantine/core';

/** Shades with enough contrast for text on both grounds (WCAG 2.1 AA). */
export const theme = createTheme({
  primaryColor: 'cyan',
  primaryShade: { light: 9, dark: 9 },
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, "DejaVu Sans Mono", monospace',
  headings: { fontFamily: 'inherit', fontWeight: '650' },
});

/** Orange that white text is read on: those of the palette are too pale for it. */
export const darkOrange = '#b34700';
