import { Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { SchemaForm } from '../form/form';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { Problem } from '../ui/problem';
import { setFarm } from './actions';
import { Rules } from './rules';
import { schemaOf } from './schema';

/** Fields that have their own buttons, or that exist only for compatibility with the product family. */
const without = ['profile', 'newfarmname', 'certname', 'threads', 'control', 'certdir', 'dhparams', 'forwardsni', 'loglevel', 'sslallowclientrenegotiation', 'sslhonorcipherorder'];

/** FarmSettings is the form for all settings of a farm, with its header rules. */
export function FarmSettings() {
  const { t } = useTranslation();
  const may = useMay();
  const { farm } = useParams({ strict: false }) as { farm: string };
  const seen = useQuery(queries.farm(farm));
  const schemas = useQuery(queries.schemas);
  if (!seen.data || !schemas.data) return <QueryView of={seen.data ? schemas : seen}>{() => null}</QueryView>;
  const object = seen.data.params;
  return (
    <Stack>
      {seen.error && <Problem error={seen.error} again={() => void seen.refetch()} />}
      <SchemaForm
        id={`farm ${farm}`}
        schema={schemaOf(schemas.data, String(object.profile), 'farm')}
        when="update"
        seen={object}
        without={without}
        change={(body) => setFarm(farm, body, t('farm.set', { farm }))}
        off={may.button('farm.modify')}
      />
      {(object.profile === 'http' || object.profile === 'https') && <Rules farm={farm} object={object} />}
    </Stack>
  );
}
