import { Anchor, Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useFieldText } from '../i18n/fields';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { nameOf, placeOf, removeCheck } from './actions';
import { NewCheck } from './new';
import { TryIt } from './try';
import type { Check } from './types';

/** ChecksPage shows every health check: the appliance's own, and the templates to copy. */
export function ChecksPage() {
  const { t } = useTranslation();
  const may = useMay();
  const checks = useQuery(queries.checks);
  const [creating, create] = useState<string>();
  const [tried, tryOne] = useState<string>();
  const [change, setChange] = useState<Change>();
  const all = checks.data?.params ?? [];
  const tables = (rows: Check[], own: boolean) => (
    <DataTable
      label={t(own ? 'checks.own' : 'checks.templates')}
      rows={rows}
      id={(c) => c.name}
      empty={t('checks.none')}
      minWidth={720}
      columns={[
        { head: t('checks.name'), cell: (c) => <CheckLink check={c.name} /> },
        { head: t('checks.command'), cell: (c) => <About check={c} /> },
        { head: t('checks.used'), cell: (c) => c.farms.map((f) => nameOf(placeOf(f))).join(', ') || '–' },
      ]}
      actions={(c) => (
        <>
          <Button size="compact-sm" variant="default" {...may.button('farmguardian.modify')} onClick={() => tryOne(c.name)} aria-label={`${t('checks.try')}: ${c.name}`}>
            {t('checks.try')}
          </Button>
          <Button size="compact-sm" variant="default" {...may.button('farmguardian.modify')} onClick={() => create(c.name)} aria-label={`${t('checks.copy')}: ${c.name}`}>
            {t('checks.copy')}
          </Button>
          {own && (
            <Button size="compact-sm" variant="default" {...may.button('farmguardian.modify')} onClick={() => setChange(removeCheck(c.name, t('checks.delete', { name: c.name })))} aria-label={t('checks.delete', { name: c.name })}>
              {t('form.delete')}
            </Button>
          )}
        </>
      )}
    />
  );
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          {t('nav.checks')}
        </Title>
        <Button {...may.button('farmguardian.modify')} onClick={() => create('')}>
          {t('checks.new')}
        </Button>
      </Group>
      <QueryView of={checks}>{() => null}</QueryView>
      {checks.data && (
        <>
          <Card withBorder p={0} component="section" aria-label={t('checks.own')}>
            {tables(all.filter((c) => c.template !== 'true'), true)}
          </Card>
          <Title order={2} size="h4">
            {t('checks.templates')}
          </Title>
          <Text size="sm" c="dimmed">
            {t('checks.templates_about')}
          </Text>
          <Card withBorder p={0} component="section" aria-label={t('checks.templates')}>
            {tables(all.filter((c) => c.template === 'true'), false)}
          </Card>
        </>
      )}
      {creating !== undefined && <NewCheck from={creating} close={() => create(undefined)} />}
      {tried && <TryIt check={tried} close={() => tryOne(undefined)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Stack>
  );
}

function CheckLink({ check }: { check: string }) {
  return (
    <Anchor size="sm" fw={600} className="text" renderRoot={(props) => <Link to="/checks/$check" params={{ check }} {...props} />}>
      {check}
    </Anchor>
  );
}

/** About describes the target and the purpose of a check. */
function About({ check }: { check: Check }) {
  const text = useFieldText();
  return (
    <>
      <Text span size="sm" ff="monospace" className="text">
        {String(check.command || '–')}
      </Text>
      {Boolean(check.description) && (
        <Text size="xs" c="dimmed">
          {check.template === 'true' ? text(String(check.description)) : String(check.description)}
        </Text>
      )}
    </>
  );
}
