import { ActionIcon, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';

type Props = { label: string; values: string[]; options: string[]; set: (values: string[]) => void; disabled?: boolean };

/** OrderedList selects and orders options; the first is tried first. */
export function OrderedList({ label, values, options, set, disabled }: Props) {
  const { t } = useTranslation();
  const left = options.filter((o) => !values.includes(o));
  const moved = (from: number, to: number) => {
    const next = [...values];
    next.splice(to, 0, ...next.splice(from, 1));
    set(next);
  };
  return (
    <Stack gap={4} role="group" aria-label={label}>
      {values.map((v, i) => (
        <Group key={v} gap={4} wrap="nowrap">
          <Text size="sm" className="text" flex={1}>
            {v}
          </Text>
          <ActionIcon size="sm" variant="default" disabled={disabled || i === 0} aria-label={t('form.up', { name: v })} onClick={() => moved(i, i - 1)}>
            ↑
          </ActionIcon>
          <ActionIcon size="sm" variant="default" disabled={disabled || i === values.length - 1} aria-label={t('form.down', { name: v })} onClick={() => moved(i, i + 1)}>
            ↓
          </ActionIcon>
          <ActionIcon size="sm" variant="default" disabled={disabled} aria-label={t('form.remove', { name: v })} onClick={() => set(values.filter((o) => o !== v))}>
            ×
          </ActionIcon>
        </Group>
      ))}
      {left.length > 0 && (
        <NativeSelect
          size="xs"
          disabled={disabled}
          aria-label={`${t('form.add')} ${label}`}
          value=""
          onChange={(e) => e.currentTarget.value && set([...values, e.currentTarget.value])}
          data={[{ value: '', label: t('form.add') }, ...left]}
        />
      )}
    </Stack>
  );
}
