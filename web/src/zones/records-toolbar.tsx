import { Button, Group, Select, Text, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useMay } from '../session/may';
import { mostAtOnce } from './actions';
import type { Wanted } from './types';

type Props = {
  wanted: Wanted;
  /** Starts a search, at its first page. */
  find: (w: Wanted) => void;
  types: string[];
  /** The number of matches, once it is known. */
  total?: number;
  chosen: number;
  removeChosen: () => void;
  chooseNone: () => void;
};

/** Toolbar searches the records of a zone, and deletes the chosen ones. */
export function Toolbar({ wanted, find, types, total, chosen, removeChosen, chooseNone }: Props) {
  const { t } = useTranslation();
  const may = useMay();
  const { text, type } = wanted;
  return (
    <Group px="md" pb="xs" gap="xs">
      <TextInput size="xs" aria-label={t('records.find')} placeholder={t('records.find')} value={text} onChange={(e) => find({ text: e.currentTarget.value, type, page: 1 })} />
      <Select size="xs" w={120} aria-label={t('records.type')} placeholder={t('records.type')} clearable clearButtonProps={{ 'aria-label': t('form.discard') }} value={type} onChange={(to) => find({ text, type: to, page: 1 })} data={[...new Set([...types, ...(type ? [type] : [])])].sort()} />
      <Text size="sm" c="dimmed" role="status">
        {total !== undefined && t('records.count', { count: total })}
      </Text>
      {chosen > 0 && (
        <>
          <Button size="compact-sm" variant="default" {...may.button('farm.modify', chosen > mostAtOnce)} onClick={removeChosen}>
            {t('records.delete_some', { count: chosen })}
          </Button>
          <Button size="compact-sm" variant="default" onClick={chooseNone}>
            {t('records.choose_none')}
          </Button>
          {chosen > mostAtOnce && (
            <Text size="sm" className="problem">
              {t('records.most', { count: mostAtOnce })}
            </Text>
          )}
        </>
      )}
    </Group>
  );
}
