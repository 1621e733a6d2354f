import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { settings } from '../change/change';
import { useBody } from '../form/body';
import { FormDrawer } from '../form/drawer';
import { dressed } from '../form/dressed';
import type { Field } from '../form/schema';
import { says, steps } from '../people/steps';
import { notifications } from './queries';

/** Alerts that have settings of their own. */
export const settingsOf = {
  backends: { prefix: {}, avoidflappingtime: {} },
  cluster: { prefix: {} },
  interfaces: { interfaces: {} },
} satisfies Record<string, Record<string, Partial<Field>>>;
export type WithSettings = keyof typeof settingsOf;

/** AlertForm changes how operators are told of something. */
export function AlertForm({ alert, close }: { alert: WithSettings; close: () => void }) {
  const { t } = useTranslation();
  const seen = {
    backends: useQuery(notifications.backends).data,
    cluster: useQuery(notifications.cluster).data,
    interfaces: useQuery(notifications.interfaces).data,
  }[alert];
  const schema = dressed(useBody('put', `/system/notifications/alerts/${alert}`), settingsOf[alert], (key) => t(`way_field.${key}`));
  const title = t('notice.edit', { name: alert });
  return (
    <FormDrawer
      title={title}
      close={close}
      id={`alert ${alert}`}
      schema={seen && schema}
      when="update"
      seen={seen ?? {}}
      change={(body) => steps(title, [{ command: `sluice notification ${alert} ${settings(body)}`, method: 'PUT', parts: ['system', 'notifications', 'alerts', alert], sent: body }], says({ ...seen }, body))}
    />
  );
}
