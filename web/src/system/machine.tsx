import { Alert, Card, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { Settings } from '../api/fields';
import { object } from '../api/files';
import { queries } from '../api/queries';
import { SchemaForm } from '../form/form';
import { NoSuchPage } from '../ui/no-such-page';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { Facts } from '../ui/facts';
import { Pills } from '../ui/pills';
import { Problem } from '../ui/problem';
import { setMachine } from './actions';
import { knownOf } from './facts';

const sections = ['dns', 'ntp', 'proxy', 'snmp', 'ssh', 'syslog', 'http'] as const;

/** MachineSettings shows the machine settings and the address of the API, by section. */
export function MachineSettings() {
  const { t } = useTranslation();
  const { section = 'dns' } = useParams({ strict: false }) as { section?: string };
  return (
    <Stack>
      <Pills base="/system/machine" at={section} tabs={sections} word={(s) => t(`machine.${s}`)} />
      {sections.some((s) => s === section) ? <Section key={section} of={section} /> : <NoSuchPage />}
    </Stack>
  );
}

function Section({ of }: { of: string }) {
  const { t } = useTranslation();
  const may = useMay();
  const seen = useQuery({ queryKey: ['system', of], queryFn: () => object<Settings>('system', of), refetchInterval: 10_000 });
  const schemas = useQuery(queries.schemas);
  const schema = schemas.data?.[`system_${of}`];
  if (!seen.data || !schemas.data) return <QueryView of={seen.data ? schemas : seen}>{() => null}</QueryView>;
  if (!schema) return <Problem error={new Error(t('machine.unknown', { name: of }))} />;
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {t(`machine.${of}_about`)}
      </Text>
      {typeof seen.data.problem === 'string' && <Alert color="red">{seen.data.problem}</Alert>}
      <Card withBorder component="section" aria-labelledby="now">
        <Title order={2} size="h5" id="now" mb={4}>
          {t('machine.now')}
        </Title>
        <Facts facts={knownOf(of, seen.data, t)} />
      </Card>
      <SchemaForm id={`system ${of}`} schema={schema} when="update" seen={seen.data} change={(sent) => setMachine(of, sent, t(`machine.${of}`))} off={may.button('system-service.modify')} />
    </Stack>
  );
}
