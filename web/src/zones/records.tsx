import { Button, Card, Group, Select, Table, Text, TextInput, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { refusing, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { Asked } from '../ui/asked';
import { Wide } from '../ui/wide';
import { mostAtOnce, removeRecords } from './actions';
import { existing, refreshed, type Chosen } from './chosen';
import { RecordEdit } from './record-edit';
import { pageSize, recordsQuery, type Record, type Zone } from './types';

/** The pause in typing after which the search starts, in milliseconds. */
const pause = 200;

/** The edited record; new for a record to be created. */
type Edited = number | 'new';

/** Records shows the records of a zone: search, editing in place, and bulk deletion. */
export function Records({ farm, zone }: { farm: string; zone: Zone }) {
  const { t } = useTranslation();
  const may = useMay();
  const types = (useQuery(queries.schemas).data?.gslb_record?.properties.type?.['x-values'] ?? []) as string[];
  const services = useQuery(queries.farm(farm)).data?.services.map((s) => s.id) ?? [];
  const [text, setText] = useState('');
  const [type, setType] = useState<string | null>(null);
  const [page, setPage] = useState(1);
  const [edited, setEdited] = useState<Edited>();
  const [chosen, choose] = useState<Chosen>(new Map());
  const [change, setChange] = useState<Change>();
  const [wanted] = useDebouncedValue(text, pause);
  const asked = useQuery(recordsQuery(farm, zone.id, { text: wanted, type, page }));
  const total = asked.data?.total ?? 0;
  const pages = Math.max(1, Math.ceil(total / pageSize));
  if (asked.data && !asked.isPlaceholderData && page > pages) setPage(pages); // the records of the last page were deleted
  const current = asked.data && !asked.isPlaceholderData ? refreshed(chosen, asked.data.params) : chosen;
  if (current !== chosen) choose(current); // somebody else changed a chosen record
  const marked = [...current.values()];
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
  const remove = (records: Record[]) => setChange(refusing(removeRecords(farm, zone.id, records, records.length === 1 ? t('records.delete', { name: titleOf(records[0]) }) : t('records.delete_some', { count: records.length })), (refusal) => choose((now) => existing(now, refusal))));
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
      <Group px="md" pb="xs" gap="xs">
        <TextInput size="xs" aria-label={t('records.find')} placeholder={t('records.find')} value={text} onChange={(e) => (setText(e.currentTarget.value), setPage(1))} />
        <Select size="xs" w={120} aria-label={t('records.type')} placeholder={t('records.type')} clearable clearButtonProps={{ 'aria-label': t('form.discard') }} value={type} onChange={(to) => (setType(to), setPage(1))} data={[...new Set([...zone.record_types, ...(type ? [type] : [])])].sort()} />
        <Text size="sm" c="dimmed" role="status">
          {asked.data && t('records.count', { count: total })}
        </Text>
        {marked.length > 0 && (
          <>
            <Button size="compact-sm" variant="default" {...may.button('farm.modify', marked.length > mostAtOnce)} onClick={() => remove(marked)}>
              {t('records.delete_some', { count: marked.length })}
            </Button>
            <Button size="compact-sm" variant="default" onClick={() => choose(new Map())}>
              {t('records.choose_none')}
            </Button>
            {marked.length > mostAtOnce && (
              <Text size="sm" className="problem">
                {t('records.most', { count: mostAtOnce })}
              </Text>
            )}
          </>
        )}
      </Group>
      <Asked of={asked}>
        {({ params: shown }) =>
          zone.record_count === 0 && edited !== 'new' ? (
            <Text c="dimmed" p="md">
              {t('records.none')}
            </Text>
          ) : total === 0 && edited !== 'new' ? (
            <Text c="dimmed" p="md">
              {t('farms.no_match')}
            </Text>
          ) : (
            <Wide label={t('zones.records')} minWidth={820}>
              <Table verticalSpacing="xs" highlightOnHover>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th w={40}>
                      <input type="checkbox" aria-label={t('records.all')} {...may.button('farm.modify')} checked={shown.length > 0 && shown.every((r) => chosen.has(r.id))} onChange={(e) => toggle(shown, e.currentTarget.checked)} />
                    </Table.Th>
                    <Table.Th w="18%">{t('records.name')}</Table.Th>
                    <Table.Th w={120}>{t('records.type')}</Table.Th>
                    <Table.Th w={90} ta="right">
                      {t('records.ttl')}
                    </Table.Th>
                    <Table.Th>{t('records.value')}</Table.Th>
                    <Table.Th w="18%">{t('records.comment')}</Table.Th>
                    <Table.Th w={150}>
                      <Text span fz={0}>
                        {t('history.actions')}
                      </Text>
                    </Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {edited === 'new' && <RecordEdit farm={farm} zone={zone} types={types} services={services} close={() => close('new')} />}
                  {shown.map((r) =>
                    edited === r.id ? (
                      <RecordEdit key={r.id} farm={farm} zone={zone} record={r} types={types} services={services} close={() => close(r.id)} />
                    ) : (
                      <Table.Tr key={r.id}>
                        <Table.Td>
                          <input type="checkbox" aria-label={t('bulk.one', { name: titleOf(r) })} {...may.button('farm.modify')} checked={chosen.has(r.id)} onChange={(e) => toggle([r], e.currentTarget.checked)} />
                        </Table.Td>
                        <Table.Td className="text">{r.rname}</Table.Td>
                        <Table.Td>{r.type}</Table.Td>
                        <Table.Td className="number">{r.ttl ?? (
                            <Text span size="sm" c="dimmed">
                              {zone.ttl}
                            </Text>
                          )}</Table.Td>
                        <Table.Td className="text">{r.rdata}</Table.Td>
                        <Table.Td className="text">{r.comment}</Table.Td>
                        <Table.Td>
                          <Group gap={4} justify="flex-end" wrap="nowrap">
                            <Button id={`edit-${r.id}`} size="compact-sm" variant="default" {...may.button('farm.modify')} onClick={() => setEdited(r.id)} aria-label={`${t('form.edit')}: ${titleOf(r)}`}>
                              {t('form.edit')}
                            </Button>
                            <Button size="compact-sm" variant="default" {...may.button('farm.modify')} onClick={() => remove([r])} aria-label={t('records.delete', { name: titleOf(r) })}>
                              {t('form.delete')}
                            </Button>
                          </Group>
                        </Table.Td>
                      </Table.Tr>
                    ),
                  )}
                </Table.Tbody>
              </Table>
            </Wide>
          )
        }
      </Asked>
      {pages > 1 && (
        <Group p="md" gap="xs">
          <Button size="compact-sm" variant="default" disabled={page === 1} onClick={() => setPage(page - 1)}>
            {t('records.previous')}
          </Button>
          <Text size="sm" role="status">
            {t('records.page', { page, of: pages })}
          </Text>
          <Button size="compact-sm" variant="default" disabled={page >= pages} onClick={() => setPage(page + 1)}>
            {t('records.next')}
          </Button>
        </Group>
      )}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} done={() => choose(new Map())} />}
    </Card>
  );
}

/** The readable text of a record. */
const titleOf = (r: Record) => `${r.rname} ${r.type}`;
