import { Button, Code, CopyButton, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** OneTimeText shows a text that is shown only once, with a copy button. */
export function OneTimeText({ label, text }: { label: string; text: string }) {
  const { t } = useTranslation();
  return (
    <Stack gap={4}>
      <Group justify="space-between">
        <Text size="sm" fw={600}>
          {label}
        </Text>
        <CopyButton value={text}>
          {({ copied, copy }) => (
            <Button size="compact-xs" variant="default" onClick={copy} aria-label={`${t(copied ? 'change.copied' : 'change.copy')}: ${label}`}>
              {t(copied ? 'change.copied' : 'change.copy')}
            </Button>
          )}
        </CopyButton>
      </Group>
      <Code block tabIndex={0} aria-label={label} role="group" className="text">
        {text}
      </Code>
    </Stack>
  );
}
