import { Button, Card, Group, Text, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { refusing, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { removeRecords } from './actions';
import { existing, refreshed, type Chosen } from './selection';
import { RecordTable, type Edited } from './records-table';
import { Toolbar } from './records-toolbar';
import { pageSize, recordsQuery, titleOf, type Record, type Wanted, type Zone } from './types';

/** The pause in typing after which the search starts, in milliseconds. */
const pause = 200;

/** Records shows the records of a zone: search, editing in place, and bulk deletion. */
export function Records({ farm, zone }: { farm: string; zone: Zone }) {
  const { t } = useTranslation();
  const may = useMay();
  const [wanted, find] = useState<Wanted>({ text: '', type: null, page: 1 });
  const [edited, setEdited] = useState<Edited>();
  const [chosen, choose] = useState<Chosen>(new Map());
  const [change, setChange] = useState<Change>();
  const [text] = useDebouncedValue(wanted.text, pause);
  const asked = useQuery(recordsQuery(farm, zone.id, { ...wanted, text }));
  const total = asked.data?.total ?? 0;
  const pages = Math.max(1, Math.ceil(total / pageSize));
  if (asked.data && !asked.isPlaceholderData && wanted.page > pages) find({ ...wanted, page: pages }); // the records of the last page were deleted
  const current = asked.data && !asked.isPlaceholderData ? refreshed(chosen, asked.data.params) : chosen;
  if (current !== chosen) choose(current); // somebody else changed a chosen record
  const toggle = (records: Record[], on: boolean) => {
    const next = new Map(chosen);
    for (const r of records) if (on) next.set(r.id, r); else next.delete(r.id);
    choose(next);
  };
  /** Ends editing and returns the focus to the record. */
  const close = (of: Edited) => {
    setEdited(undefined);
    requestAnimationFrame(() => document.getElementById(`edit-${of}`)?.focus());
  };
  const remove = (records: Record[], title: string) => setChange(refusing(removeRecords(farm, zone.id, records, title), (refusal) => choose((now) => existing(now, refusal))));
  const removeChosen = () => {
    const records = [...current.values()];
    remove(records, records.length === 1 ? t('records.delete', { name: titleOf(records[0]) }) : t('records.delete_some', { count: records.length }));
  };
  const empty = edited === 'new' ? undefined : zone.record_count === 0 ? t('records.none') : total === 0 ? t('farms.no_match') : undefined;
  return (
    <Card withBorder p={0} component="section" aria-labelledby="records">
      <Group p="md" pb="xs" justify="space-between">
        <Title order={3} size="h4" id="records">
          {t('zones.records')}
        </Title>
        <Button size="xs" id="edit-new" {...may.button('farm.modify', edited === 'new')} onClick={() => setEdited('new')}>
          {t('records.add')}
        </Button>
      </Group>
      <Toolbar wanted={wanted} find={find} types={zone.record_types} total={asked.data?.total} chosen={current.size} removeChosen={removeChosen} chooseNone={() => choose(new Map())} />
      <QueryView of={asked}>
        {({ params }) =>
          empty ? (
            <Text c="dimmed" p="md">
              {empty}
            </Text>
          ) : (
            <RecordTable farm={farm} zone={zone} records={params} chosen={current} choose={toggle} edited={edited} edit={setEdited} close={close} remove={(r) => remove([r], t('records.delete', { name: titleOf(r) }))} />
          )
        }
      </QueryView>
      {pages > 1 && <Paging page={wanted.page} pages={pages} go={(page) => find({ ...wanted, page })} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} done={() => choose(new Map())} />}
    </Card>
  );
}

/** Paging goes to the previous or next page of records. */
function Paging({ page, pages, go }: { page: number; pages: number; go: (page: number) => void }) {
  const { t } = useTranslation();
  return (
    <Group p="md" gap="xs">
      <Button size="compact-sm" variant="default" disabled={page === 1} onClick={() => go(page - 1)}>
        {t('records.previous')}
      </Button>
      <Text size="sm" role="status">
        {t('records.page', { page, of: pages })}
      </Text>
      <Button size="compact-sm" variant="default" disabled={page >= pages} onClick={() => go(page + 1)}>
        {t('records.next')}
      </Button>
    </Group>
  );
}
