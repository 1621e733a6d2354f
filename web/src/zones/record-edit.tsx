import { Autocomplete, Button, Group, NativeSelect, Table, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useId, useRef, useState, type FormEvent, type KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { Settings } from '../api/fields';
import { preview, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useDraft } from '../form/draft';
import { Problem } from '../ui/problem';
import { createRecord, setRecord } from './actions';
import { recordBody, shapes, type Typed } from './record';
import type { Record, Zone } from './types';
import { wrongField } from './refusal';

const fields = ['rname', 'type', 'ttl', 'rdata', 'comment'] as const;

type Props = { farm: string; zone: Zone; record?: Record; types: string[]; services: string[]; close: () => void };

/** RecordEdit is the row of a record that is edited, or of a new one. */
export function RecordEdit({ farm, zone, record, types, services, close }: Props) {
  const { t } = useTranslation();
  const form = useId();
  const row = useRef<HTMLTableRowElement>(null);
  const before: Typed = record ? { ...record, ttl: String(record.ttl ?? '') } : { rname: '', type: 'A', ttl: '', rdata: '', comment: '' };
  const draft = useDraft(`record ${farm} ${zone.id} ${record?.id ?? 'new'}`, before);
  const typed = draft.values as Typed;
  const [tried, setTried] = useState<Change>();
  const end = () => {
    draft.clear();
    close();
  };
  /** Escape ends editing, unless it closes a list or a dialog. */
  const escape = (e: KeyboardEvent<HTMLElement>) => e.key === 'Escape' && !tried && (e.target as Element).ariaExpanded !== 'true' && end();
  const trial = useMutation({
    mutationFn: async (body: Settings) => {
      const title = t(record ? 'records.set' : 'records.create', { name: `${typed.rname} ${typed.type}` });
      const change = record ? setRecord(farm, zone.id, record.id, body, title) : createRecord(farm, zone.id, body, title);
      await preview(change);
      return change;
    },
    onSuccess: setTried,
    onError: (e) => {
      const name = wrongField(e, fields)?.name;
      if (name) row.current?.querySelector<HTMLElement>(`[name="${name}"]`)?.focus();
    },
  });
  const wrong = wrongField(trial.error, fields);
  const body = recordBody(record && before, typed);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    trial.mutate(body);
  };
  const shared = (name: keyof Typed, label: string) => ({ form, name, 'aria-label': label, size: 'xs' as const, value: typed[name], error: wrong?.name === name ? wrong.text : undefined });
  const text = (name: keyof Typed, label: string) => ({ ...shared(name, label), onChange: (e: { currentTarget: { value: string } }) => draft.set(name, e.currentTarget.value) });
  return (
    <>
      <Table.Tr ref={row} onKeyDown={escape}>
        <Table.Td />
        <Table.Td>
          <TextInput {...text('rname', t('records.name'))} placeholder="www" data-autofocus autoFocus />
        </Table.Td>
        <Table.Td>
          <NativeSelect {...text('type', t('records.type'))} data={types.includes(typed.type) ? types : [...types, typed.type]} />
        </Table.Td>
        <Table.Td>
          <TextInput {...text('ttl', t('records.ttl'))} inputMode="numeric" placeholder={String(zone.ttl)} />
        </Table.Td>
        <Table.Td>
          {typed.type === 'DYNA' ? (
            <Autocomplete {...shared('rdata', t('records.value'))} data={services} placeholder={t('records.service')} onChange={(to) => draft.set('rdata', to)} />
          ) : (
            <TextInput {...text('rdata', t('records.value'))} placeholder={shapes[typed.type]} />
          )}
        </Table.Td>
        <Table.Td>
          <TextInput {...text('comment', t('records.comment'))} />
        </Table.Td>
        <Table.Td>
          <form id={form} onSubmit={submit} noValidate>
            <Group gap={4} justify="flex-end" wrap="nowrap">
              <Button size="compact-sm" type="submit" disabled={Object.keys(body).length === 0} loading={trial.isPending}>
                {t(record ? 'form.save' : 'form.create')}
              </Button>
              <Button size="compact-sm" variant="default" onClick={end}>
                {t('change.cancel')}
              </Button>
            </Group>
          </form>
          {tried && <ChangeDialog change={tried} close={() => setTried(undefined)} done={end} />}
        </Table.Td>
      </Table.Tr>
      {trial.error && !wrong && (
        <Table.Tr>
          <Table.Td colSpan={7} p={0}>
            <Problem error={trial.error} />
          </Table.Td>
        </Table.Tr>
      )}
    </>
  );
}
