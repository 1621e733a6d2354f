import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { FormDrawer } from '../form/drawer';
import { createCheck } from './actions';

/** NewCheck creates a check as a copy of another one with changes. */
export function NewCheck({ from, close }: { from: string; close: () => void }) {
  const { t } = useTranslation();
  const go = useNavigate();
  const schemas = useQuery(queries.schemas).data;
  const checks = useQuery(queries.checks).data?.params;
  const copied = checks?.find((c) => c.name === from) as Record<string, unknown> | undefined;
  const { name: _, farms: __, template: ___, ...rest } = copied ?? {};
  const known = schemas && checks;
  return (
    <FormDrawer
      title={from ? t('checks.copy_of', { name: from }) : t('checks.new')}
      close={close}
      id={`new check ${from}`}
      schema={known ? schemas.check : undefined}
      when="create"
      seen={from ? { ...rest, copy_from: from } : {}}
      without={from ? [] : ['copy_from']}
      change={(body) => createCheck(body, t('checks.create', { name: String(body.name ?? '') }))}
      done={(body) => void go({ to: '/checks/$check', params: { check: String(body.name) } })}
    />
  );
}
