import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Field } from '../api/fields';
import { useBody } from '../form/body';
import { FormDrawer } from '../form/drawer';
import { withTexts } from '../form/with-texts';
import { useMay } from '../session/may';
import { people, type User } from './queries';
import { createUser, setUser } from './user-change';

const flag = { type: 'string', enum: ['true', 'false'] };
const local = { fields: ['service'], values: ['local'] };

/** UserForm creates or changes a user with its group, in a drawer. */
export function UserForm({ user, close }: { user?: User; close: () => void }) {
  const { t } = useTranslation();
  const may = useMay();
  const groups = useQuery(people.groups).data;
  const create = useBody('post', '/rbac/users');
  const update = useBody('put', '/rbac/users/{user}');
  const names = groups?.map((g) => g.name) ?? [];
  const group: Record<string, Partial<Field>> = may('rbac-group.modify') && may.allFarms && names.length > 0 ? { group: { type: 'string', enum: ['', ...names] } } : {};
  const fields: Record<string, Partial<Field>> = user
    ? { ...(user.service === 'local' ? { newpassword: {} } : {}), ...group, webgui_permissions: flag, zapi_permissions: flag, zapikey: {} }
    : { name: {}, service: {}, password: { 'x-only': local }, ...group, ...(may('rbac-user.modify') ? { webgui_permissions: flag } : {}) };
  const schema = withTexts(user ? update : create, fields, (key) => t(`user_field.${key}`));
  const title = user ? t('user.edit', { name: user.name }) : t('user.add');
  const known = user ? { ...user } : { webgui_permissions: 'true' };
  return (
    <FormDrawer
      title={title}
      close={close}
      id={`user ${user?.name ?? ''}`}
      schema={schema}
      when={user ? 'update' : 'create'}
      seen={known}
      change={(body) => (user ? setUser(user, body, title) : createUser(body, t('user.create', { name: String(body.name ?? '') })))}
    />
  );
}
