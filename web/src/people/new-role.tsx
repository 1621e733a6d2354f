import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Settings } from '../api/fields';
import { quoted, type Change } from '../change/change';
import { NameForm } from './name-form';
import { people } from './queries';
import { diffLines, steps } from './steps';

/** NewRole creates a role, as a copy of another one or without permissions. */
export function NewRole({ of, close, done }: { of: string; close: () => void; done: (role: string) => void }) {
  const { t } = useTranslation();
  const roles = useQuery(people.roles).data ?? [];
  return (
    <NameForm
      title={t('role.add')}
      path="/rbac/roles"
      more={{ copy_from: { type: 'string', enum: ['', ...roles.map((r) => r.name)] } }}
      seen={{ copy_from: of }}
      close={close}
      change={(body) => createRole(body, t('role.create', { name: String(body.name ?? '') }))}
      done={(body) => done(String(body.name))}
    />
  );
}

function createRole(body: Settings, title: string): Change {
  const copy = body.copy_from ? ` --copy-from ${quoted(String(body.copy_from))}` : '';
  return steps(title, [{ command: `sluice role create ${quoted(String(body.name ?? ''))}${copy}`, method: 'POST', parts: ['rbac', 'roles'], sent: body }], diffLines({}, body));
}
