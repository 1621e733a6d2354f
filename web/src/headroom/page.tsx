import { Button, Card, Group, Loader, Stack, Text, Textarea, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { Rehearsal } from './rehearsal';
import { Problem } from '../ui/problem';
import { Rooms } from './headroom';

/** HeadroomPage shows the spare capacity of all backends, the fullest first, and simulates outages. */
export function HeadroomPage() {
  const { t } = useTranslation();
  const all = useQuery(queries.allHeadroom);
  const rows = [...(all.data?.params ?? [])].sort((a, b) => (a.headroom ?? Infinity) - (b.headroom ?? Infinity));
  return (
    <Stack>
      <Title order={1} size="h2">
        {t('headroom.title')}
      </Title>
      {all.error && <Problem error={all.error} again={() => void all.refetch()} />}
      {all.isPending && <Loader size="sm" aria-label="…" />}
      {all.data && (
        <Card withBorder p={0}>
          <Rooms rows={rows} farms />
        </Card>
      )}
      <Rehearse known={rows.map((r) => [r.farm, r.service, r.id].filter((p) => p !== undefined && p !== '' && p !== null).join('/'))} />
    </Stack>
  );
}

/** Rehearse shows which backends would take over if some fail together. */
function Rehearse({ known }: { known: string[] }) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const [asked, ask] = useState<string[]>();
  const submit = (e: FormEvent) => {
    e.preventDefault();
    ask(text.split(/\s+/).filter(Boolean));
  };
  return (
    <Card withBorder component="section" aria-labelledby="rehearse">
      <Title order={2} size="h4" id="rehearse">
        {t('rehearsal.ask')}
      </Title>
      <Text size="sm" c="dimmed" mb="xs">
        {t('rehearsal.about')}
      </Text>
      <form onSubmit={submit}>
        <Group align="end">
          <Textarea label={t('backends.title')} placeholder={known[0]} rows={2} value={text} onChange={(e) => setText(e.currentTarget.value)} style={{ flex: '1 1 16rem' }} />
          <Button type="submit" disabled={text.trim() === ''}>
            {t('rehearsal.play')}
          </Button>
        </Group>
      </form>
      {asked && (
        <div style={{ marginTop: '1rem' }}>
          <Rehearsal of={asked} />
        </div>
      )}
    </Card>
  );
}
