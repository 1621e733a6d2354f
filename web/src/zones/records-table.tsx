import { Button, Group, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { useMay } from '../session/may';
import { Wide } from '../ui/wide';
import type { Chosen } from './selection';
import { RecordEdit } from './record-edit';
import { titleOf, type Record, type Zone } from './types';

/** The edited record; new for a record to be created. */
export type Edited = number | 'new';

type Props = {
  farm: string;
  zone: Zone;
  records: Record[];
  chosen: Chosen;
  choose: (records: Record[], on: boolean) => void;
  edited?: Edited;
  edit: (e: Edited) => void;
  /** Ends editing. */
  close: (e: Edited) => void;
  remove: (r: Record) => void;
};

/** RecordTable shows a page of records, and the inputs for the edited one in its place. */
export function RecordTable({ farm, zone, records, chosen, choose, edited, edit, close, remove }: Props) {
  const { t } = useTranslation();
  const types = (useQuery(queries.schemas).data?.gslb_record?.properties.type?.['x-values'] ?? []) as string[];
  const services = useQuery(queries.farm(farm)).data?.services.map((s) => s.id) ?? [];
  const editing = { farm, zone, types, services };
  return (
    <Wide label={t('zones.records')} minWidth={820}>
      <Table verticalSpacing="xs" highlightOnHover>
        <Head chosen={records.length > 0 && records.every((r) => chosen.has(r.id))} choose={(on) => choose(records, on)} />
        <Table.Tbody>
          {edited === 'new' && <RecordEdit {...editing} close={() => close('new')} />}
          {records.map((r) =>
            edited === r.id ? (
              <RecordEdit key={r.id} {...editing} record={r} close={() => close(r.id)} />
            ) : (
              <Row key={r.id} record={r} ttl={zone.ttl} chosen={chosen.has(r.id)} choose={(on) => choose([r], on)} edit={() => edit(r.id)} remove={() => remove(r)} />
            ),
          )}
        </Table.Tbody>
      </Table>
    </Wide>
  );
}

/** Head has the titles of the columns, and chooses all records of the page. */
function Head({ chosen, choose }: { chosen: boolean; choose: (on: boolean) => void }) {
  const { t } = useTranslation();
  const may = useMay();
  return (
    <Table.Thead>
      <Table.Tr>
        <Table.Th w={40}>
          <input type="checkbox" aria-label={t('records.all')} {...may.button('farm.modify')} checked={chosen} onChange={(e) => choose(e.currentTarget.checked)} />
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
  );
}

type RowProps = { record: Record; /** The TTL of the zone, for a record without its own. */ ttl: number; chosen: boolean; choose: (on: boolean) => void; edit: () => void; remove: () => void };

/** Row is a record that is not edited. */
function Row({ record: r, ttl, chosen, choose, edit, remove }: RowProps) {
  const { t } = useTranslation();
  const may = useMay();
  return (
    <Table.Tr>
      <Table.Td>
        <input type="checkbox" aria-label={t('bulk.one', { name: titleOf(r) })} {...may.button('farm.modify')} checked={chosen} onChange={(e) => choose(e.currentTarget.checked)} />
      </Table.Td>
      <Table.Td className="text">{r.rname}</Table.Td>
      <Table.Td>{r.type}</Table.Td>
      <Table.Td className="number">
        {r.ttl ?? (
          <Text span size="sm" c="dimmed">
            {ttl}
          </Text>
        )}
      </Table.Td>
      <Table.Td className="text">{r.rdata}</Table.Td>
      <Table.Td className="text">{r.comment}</Table.Td>
      <Table.Td>
        <Group gap={4} justify="flex-end" wrap="nowrap">
          <Button id={`edit-${r.id}`} size="compact-sm" variant="default" {...may.button('farm.modify')} onClick={edit} aria-label={`${t('form.edit')}: ${titleOf(r)}`}>
            {t('form.edit')}
          </Button>
          <Button size="compact-sm" variant="default" {...may.button('farm.modify')} onClick={remove} aria-label={t('records.delete', { name: titleOf(r) })}>
            {t('form.delete')}
          </Button>
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}
