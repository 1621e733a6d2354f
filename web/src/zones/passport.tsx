import { Autocomplete, Button, Card, Code, Group, List, Loader, Stack, Text, TextInput, Title, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { api, body, request } from '../api/client';
import { queries } from '../api/queries';
import type { components } from '../api/schema';
import { DataTable } from '../ui/data-table';
import { duration } from '../ui/numbers';
import { Problem } from '../ui/problem';
import { State } from '../ui/state';
import type { Record, Zone } from './types';
import { wrongField } from './refusal';

type Explained = components['schemas']['Explanation'];
type Candidate = components['schemas']['Candidate'];
type Question = { name: string; type: string; from: string };

const fields = ['name', 'type', 'from'];
const types = ['A', 'AAAA', 'MX', 'TXT', 'NS', 'SOA', 'CNAME', 'SRV', 'PTR', 'CAA', 'HTTPS'];

/**
 * Passport shows which client gets which answer, and why. It refreshes automatically, because health changes answers.
 */
export function Passport({ farm, service }: { farm: string; service?: string }) {
  const { t } = useTranslation();
  const object = useQuery(queries.farm(farm)).data;
  const zones = object?.zones ?? [];
  const nets = [...new Set(object?.services.flatMap((s) => ('algorithm' in s && (!service || s.id === service) ? s.backends.flatMap((b) => b.nets) : [])))];
  const [typed, type] = useState<Partial<Question>>({});
  const [asked, ask] = useState<Question & { at: number }>();
  const example = useQuery({ queryKey: ['example', farm, service, zones.map((z) => [z.id, z.serial])], queryFn: () => exampleOf(farm, zones, service), enabled: zones.length > 0 }).data;
  const question: Question = { name: example ?? zones[0]?.id ?? '', type: 'A', from: '', ...typed };
  const said = useQuery({
    queryKey: ['passport', farm, asked],
    queryFn: () => body(api.POST('/farms/{farm}/explain', { params: { path: { farm } }, body: sentOf(asked ?? question) })),
    enabled: asked !== undefined,
    refetchInterval: (q) => (q.state.error ? false : 5_000),
    retry: false,
    gcTime: 0,
  });
  const wrong = wrongField(said.error, fields);
  const at = (name: keyof Question) => ({ name, value: question[name], error: wrong?.name === name ? wrong.text : undefined });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    ask({ ...question, at: Date.now() });
  };
  return (
    <Card withBorder component="section" aria-labelledby="passport">
      <Title order={2} size="h4" id="passport">
        {t('passport.title')}
      </Title>
      <Text size="sm" c="dimmed" mb="xs">
        {t('passport.about')}
      </Text>
      <form onSubmit={submit} noValidate>
        <Group align="start">
          <TextInput label={t('passport.name')} {...at('name')} placeholder="www.example.com" onChange={(e) => type({ ...typed, name: e.currentTarget.value })} style={{ flex: '2 1 14rem' }} />
          <Autocomplete label={t('records.type')} {...at('type')} data={types} onChange={(to) => type({ ...typed, type: to })} w={120} />
          <Autocomplete label={t('passport.from')} {...at('from')} placeholder="198.51.100.0/24" data={nets} onChange={(to) => type({ ...typed, from: to })} style={{ flex: '1 1 11rem' }} />
          <Button type="submit" loading={said.isFetching && !said.data} mt={{ base: 0, sm: 25 }}>
            {t('explain.ask')}
          </Button>
        </Group>
      </form>
      {asked && said.isPending && <Loader size="sm" mt="md" aria-label="…" />}
      {said.error && !wrong && <Problem error={said.error} />}
      {said.data?.params && <Said of={said.data.params} />}
    </Card>
  );
}

/** A name for the example: one that the service answers, or any service, or a zone. */
async function exampleOf(farm: string, zones: Zone[], service?: string): Promise<string> {
  for (const z of zones.filter((one) => one.record_types.includes('DYNA'))) {
    const { params } = (await body(request('GET', ['farms', farm, 'zones', z.id, 'resources'], undefined, { type: 'DYNA', limit: '100', ...(service ? { rdata: service } : {}) }))) as { params: Record[] };
    const r = params.find((one) => !service || one.rdata === service);
    if (r) return r.rname === '@' ? z.id : `${r.rname.replace(/^\*/, 'any')}.${z.id}`;
  }
  return zones[0].id;
}

/** Omitted parameters have defaults in the API. */
function sentOf({ name, type, from }: Question) {
  const sent: Partial<Question> = {};
  if (name.trim()) sent.name = name.trim();
  if (type.trim()) sent.type = type.trim().toUpperCase();
  if (from.trim()) sent.from = from.trim();
  return sent;
}

/** Said shows an answer and its explanation. */
function Said({ of: { passport, result, from } }: { of: Explained }) {
  const { t } = useTranslation();
  if (!passport) return null;
  const sections = [
    ['passport.answer', passport.records],
    ['passport.authority', passport.authority],
    ['passport.additional', passport.additional],
  ] as const;
  return (
    <Stack gap="sm" mt="md" component="section" aria-label={t('passport.answer')}>
      <div>
        <Text fw={650} className="text">
          {passport.rcode} · {passport.question}
        </Text>
        <Text size="sm" className="text">
          {t('passport.why', { from, reason: result.reason })}
        </Text>
      </div>
      {passport.path && passport.path.length > 0 && (
        <List size="sm" spacing={2}>
          {passport.path.map((s, i) => (
            <List.Item key={i} className="text">
              {t(s.type ? 'passport.step' : 'passport.nothing', { name: s.name, type: s.type, zone: s.zone })}
            </List.Item>
          ))}
        </List>
      )}
      {sections.map(
        ([title, records]) =>
          records &&
          records.length > 0 && (
            <div key={title}>
              <Text size="sm" fw={600}>
                {t(title)}
              </Text>
              <Code block tabIndex={0}>
                {records.join('\n')}
              </Code>
            </div>
          ),
      )}
      {passport.place && <Text size="sm">{t('passport.place', { place: passport.place })}</Text>}
      {passport.scope > 0 && <Text size="sm">{t('passport.scope', { bits: passport.scope })}</Text>}
      {passport.truncated && <Text size="sm">{t('passport.truncated')}</Text>}
      {passport.service && (
        <div>
          <Text size="sm" fw={600} className="text">
            {t('passport.service', { name: passport.service, algorithm: passport.algorithm })}
          </Text>
          <DataTable
            label={t('passport.candidates')}
            rows={passport.candidates ?? []}
            id={(c) => String(c.id)}
            empty={t('passport.no_candidate')}
            columns={[
              {
                head: t('passport.taken'),
                cell: (c) => (
                  <>
                    <span aria-hidden>{c.taken ? '✓' : '–'}</span>
                    <VisuallyHidden>{t(c.taken ? 'passport.yes' : 'passport.no')}</VisuallyHidden>
                  </>
                ),
              },
              { head: t('backends.backend'), cell: (c) => c.address },
              { head: t('farms.state'), cell: (c) => <State of={c.status} /> },
              { head: t('backends.weight'), cell: (c) => c.weight, number: true },
              ...(passport.algorithm === 'geo' ? [{ head: t('passport.near'), cell: (c: Candidate) => t(c.near ? 'passport.yes' : 'passport.no') }] : []),
              ...(passport.algorithm === 'nearest'
                ? [{ head: t('passport.distance'), cell: (c: Candidate) => (c.distance === undefined ? '' : `${c.distance} km`), number: true }]
                : []),
              ...(passport.algorithm === 'fastest'
                ? [{ head: t('passport.latency'), cell: (c: Candidate) => duration(c.latency === undefined ? undefined : c.latency / 1000), number: true }]
                : []),
              ...(passport.algorithm === 'load' ? [{ head: t('passport.load'), cell: (c: Candidate) => c.load ?? '', number: true }] : []),
              { head: t('passport.reason'), cell: (c) => c.reason },
            ]}
          />
        </div>
      )}
    </Stack>
  );
}
