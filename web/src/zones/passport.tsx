import { Autocomplete, Button, Card, Group, Loader, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { api, body, request } from '../api/client';
import { queries } from '../api/queries';
import { Problem } from '../ui/problem';
import { Answer } from './passport-answer';
import { wrongField } from './refusal';
import type { Record, Zone } from './types';

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
      {said.data?.params && <Answer of={said.data.params} />}
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
