import { Badge, Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Schema, Settings } from '../api/fields';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { SchemaForm } from '../form/form';
import { useFieldText } from '../i18n/fields';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { Back } from '../ui/back';
import { NotFound } from '../ui/not-found';
import { TitledPage } from '../ui/titled-page';
import { removeCheck, setCheck } from './actions';
import { Links } from './links';
import { NewCheck } from './new';
import { TryIt } from './try';

/** CheckPage shows one health check: its backends, its results and its settings. */
export function CheckPage() {
  const { t } = useTranslation();
  const text = useFieldText();
  const may = useMay();
  const go = useNavigate();
  const { check: name } = useParams({ strict: false }) as { check: string };
  const checks = useQuery(queries.checks);
  const schemas = useQuery(queries.schemas);
  const [copying, copy] = useState(false);
  const [trying, tryIt] = useState(false);
  const [change, setChange] = useState<Change>();
  const check = checks.data?.params?.find((c) => c.name === name);
  const used = (check?.farms.length ?? 0) > 0;
  const schema = useMemo(() => schemas.data && forced(schemas.data.check, used), [schemas.data, used]);
  if (!checks.data || !schema) {
    return (
      <TitledPage title={name}>
        <QueryView of={checks.data ? schemas : checks}>{() => null}</QueryView>
      </TitledPage>
    );
  }
  if (!check) {
    return (
      <TitledPage title={name}>
        <NotFound text={t('checks.gone', { name })}>
          <Back to="/checks">{t('nav.checks')}</Back>
        </NotFound>
      </TitledPage>
    );
  }
  const template = check.template === 'true';
  return (
    <Stack>
      <Group justify="space-between" align="start">
        <Group>
          <Title order={1} size="h2" className="text">
            {name}
          </Title>
          {template && (
            <Badge variant="default" tt="none">
              {t('checks.template')}
            </Badge>
          )}
        </Group>
        <Group gap="xs">
          <Button {...may.button('farmguardian.modify')} onClick={() => tryIt(true)}>
            {t('checks.try')}
          </Button>
          <Button variant="default" {...may.button('farmguardian.modify')} onClick={() => copy(true)}>
            {t('checks.copy')}
          </Button>
          <Button variant="default" {...may.button('farmguardian.modify')} onClick={() => setChange(removeCheck(name, t(template ? 'checks.reset' : 'checks.delete', { name })))}>
            {t(template ? 'checks.reset_short' : 'form.delete')}
          </Button>
        </Group>
      </Group>
      {template && (
        <Card withBorder>
          <Text size="sm" ff="monospace" className="text">
            {String(check.command ?? '')}
          </Text>
          <Text size="sm" c="dimmed">
            {text(String(check.description ?? ''))}
          </Text>
        </Card>
      )}
      <Links check={name} places={check.farms} />
      <SchemaForm
        id={`check ${name}`}
        schema={schema}
        when="update"
        seen={check as Settings}
        without={template ? ['command', 'description'] : []}
        change={(body) => setCheck(name, body, t('checks.set', { name }))}
        off={may.button('farmguardian.modify')}
      />
      {trying && <TryIt check={name} close={() => tryIt(false)} />}
      {copying && <NewCheck from={name} close={() => copy(false)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} done={template ? undefined : () => void go({ to: '/checks' })} />}
    </Stack>
  );
}

/** For a check in use, the form shows its option force, because command and alias cannot be changed without it. */
function forced(schema: Schema, used: boolean): Schema {
  const { force, ...rest } = schema.properties;
  return { ...schema, properties: used ? { ...rest, force: { ...force, 'x-advanced': false } } : rest };
}
