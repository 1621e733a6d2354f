import { Anchor, Badge, Card, Group, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useDeferredValue, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { fileAt } from '../api/files';
import { openapi } from '../form/body';
import { darkOrange } from '../ui/theme';
import classes from './apidocs.module.css';
import { bySection, found, operations, type Doc, type Operation } from './model';
import { QueryView } from '../ui/query-view';

/** OperationList shows every operation of the API by section, from the appliance's OpenAPI document. */
export function OperationList() {
  const { t } = useTranslation();
  const document = useQuery(openapi);
  const [text, setText] = useState('');
  const [section, setSection] = useState<string | null>(null);
  const wanted = useDeferredValue(text);
  const all = useMemo(() => (document.data ? operations(document.data as unknown as Doc) : []), [document.data]);
  const shown = useMemo(() => found(all, wanted).filter((o) => !section || o.section === section), [all, wanted, section]);
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          {t('nav.apidocs')}
        </Title>
        <Anchor href={fileAt('openapi.json')} download="openapi.json" size="sm">
          {t('apidocs.document')}
        </Anchor>
      </Group>
      <Text size="sm" c="dimmed">
        {t('apidocs.about')}
      </Text>
      <Group>
        <TextInput aria-label={t('apidocs.find')} placeholder={t('apidocs.find')} value={text} onChange={(e) => setText(e.currentTarget.value)} w={280} />
        <Select aria-label={t('apidocs.section')} placeholder={t('apidocs.section')} clearable data={[...new Set(all.map((o) => o.section))]} value={section} onChange={setSection} />
        <Text size="sm" c="dimmed" role="status">
          {document.data && t('apidocs.count', { count: shown.length })}
        </Text>
      </Group>
      {!document.data && <QueryView of={document}>{() => null}</QueryView>}
      {document.isSuccess && shown.length === 0 && <Text c="dimmed">{t('farms.no_match')}</Text>}
      {bySection(shown).map(([name, group]) => (
        <Card key={name} withBorder component="section" aria-label={name}>
          <Title order={2} size="h4" mb="xs">
            {name}
          </Title>
          <ul className={classes.list}>
            {group.map((o) => (
              <li key={o.id}>
                <Row of={o} />
              </li>
            ))}
          </ul>
        </Card>
      ))}
    </Stack>
  );
}

function Row({ of: o }: { of: Operation }) {
  return (
    <Link to="/apidocs/$operation" params={{ operation: o.id }} className={classes.row} preload={false}>
      <Method of={o.method} />
      <span className={classes.path}>{o.path}</span>
      <span className={classes.summary}>{o.summary}</span>
    </Link>
  );
}

const colours: Record<string, string> = { GET: 'gray.8', POST: 'teal.9', PUT: darkOrange, DELETE: 'red.9' };

/** Method shows the verb of a call, as text and by colour. */
export function Method({ of }: { of: string }) {
  return (
    <Badge color={colours[of] ?? 'gray.8'} radius="sm" w={72}>
      {of}
    </Badge>
  );
}
