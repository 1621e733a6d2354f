import { Group, Select, Text, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Filter } from './filter';

type Props = { filter: Filter; set: (f: Filter) => void; states: string[]; tags: string[]; /** The number of matches, once it is known. */ count?: number };

/** Toolbar selects the farms of the list by text, state and tag. */
export function Toolbar({ filter, set, states, tags, count }: Props) {
  const { t } = useTranslation();
  return (
    <Group>
      <TextInput aria-label={t('farms.search')} placeholder={t('farms.search')} value={filter.text} onChange={(e) => set({ ...filter, text: e.currentTarget.value })} />
      <Select
        aria-label={t('farms.state')}
        placeholder={t('farms.state')}
        clearable
        value={filter.state}
        onChange={(state) => set({ ...filter, state })}
        data={states.map((s) => ({ value: s, label: t(`state.${s.replace(' ', '_')}`, { defaultValue: s }) }))}
      />
      {tags.length > 0 && <Select aria-label={t('farms.tag')} placeholder={t('farms.tag')} clearable value={filter.tag} onChange={(tag) => set({ ...filter, tag })} data={tags} />}
      <Text size="sm" c="dimmed" role="status">
        {count !== undefined && t('farms.count', { count })}
      </Text>
    </Group>
  );
}
