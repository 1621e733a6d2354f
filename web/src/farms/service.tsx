import { Stack, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { Settings } from '../api/fields';
import { queries } from '../api/queries';
import { SchemaForm } from '../form/form';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { Back } from '../ui/back';
import { NotFound } from '../ui/not-found';
import { Problem } from '../ui/problem';
import { setService } from './actions';
import { Passport } from '../zones/passport';
import { Explain } from './explain';
import { Rules } from './rules';
import { schemaOf } from './schema';
import { ServiceBackends } from './service-backends';

/** ServicePage shows a service without its backends. */
export function ServicePage() {
  const { t } = useTranslation();
  const may = useMay();
  const { farm, service } = useParams({ strict: false }) as { farm: string; service: string };
  const object = useQuery(queries.farm(farm));
  const schemas = useQuery(queries.schemas);
  if (!object.data || !schemas.data) return <QueryView of={object.data ? schemas : object}>{() => null}</QueryView>;
  const seen = object.data.services.find((s) => s.id === service) as Settings | undefined;
  if (!seen) {
    return (
      <NotFound text={t('services.gone', { name: service })}>
        <Back to={`/farms/${farm}/services`}>{t('tab.services')}</Back>
      </NotFound>
    );
  }
  const farmSeen = object.data.params;
  const profile = String(farmSeen.profile);
  return (
    <Stack>
      {object.error && <Problem error={object.error} again={() => void object.refetch()} />}
      <Title order={2} size="h3" className="text">
        {service}
      </Title>
      <SchemaForm
        id={`service ${farm} ${service}`}
        schema={schemaOf(schemas.data, profile, 'service')}
        farmSchema={schemaOf(schemas.data, profile, 'farm')}
        farm={farmSeen}
        when="update"
        seen={seen}
        without={['id', 'leastresp']}
        change={(body) => setService(farm, service, body, t('services.set', { name: service }))}
        off={may.button('farm.modify')}
      />
      {profile === 'gslb' ? (
        <>
          <ServiceBackends farm={farm} profile={profile} service={service} />
          <Passport farm={farm} service={service} />
        </>
      ) : (
        <>
          <Rules farm={farm} service={service} object={seen} />
          <Explain headers farm={farm} vport={String(farmSeen.vport)} secure={farmSeen.listener === 'https'} />
        </>
      )}
    </Stack>
  );
}
