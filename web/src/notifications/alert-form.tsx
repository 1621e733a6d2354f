import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Field } from '../api/fields';
import { settings } from '../change/change';
import { useBody } from '../form/body';
import { FormDrawer } from '../form/drawer';
import { withTexts } from '../form/with-texts';
import { diffLines, steps } from '../people/steps';
import { notifications } from './queries';

/** Alerts with their own settings. */
export const settingsOf = {
  backends: { prefix: {}, avoidflappingtime: {} },
  cluster: { prefix: {} },
  interfaces: { interfaces: {} },
} satisfies Record<string, Record<string, Partial<Field>>>;
export type WithSettings = keyof typeof settingsOf;

/** AlertForm changes the settings of an alert. */
export function AlertForm({ alert, close }: { alert: WithSettings; close: () => void }) {
  const { t } = useTranslation();
  const asked = {
    backends: useQuery({ ...notifications.backends, enabled: alert === 'backends' }),
    cluster: useQuery({ ...notifications.cluster, enabled: alert === 'cluster' }),
    interfaces: useQuery({ ...notifications.interfaces, enabled: alert === 'interfaces' }),
  }[alert];
  const seen = asked.data;
  const schema = withTexts(useBody('put', `/system/notifications/alerts/${alert}`), settingsOf[alert], (key) => t(`way_field.${key}`));
  const title = t('notice.edit', { name: alert });
  return (
    <FormDrawer
      title={title}
      close={close}
      id={`alert ${alert}`}
      of={asked}
      schema={seen && schema}
      when="update"
      seen={seen ?? {}}
      change={(body) => steps(title, [{ command: `sluice notification ${alert} ${settings(body)}`, method: 'PUT', parts: ['system', 'notifications', 'alerts', alert], sent: body }], diffLines({ ...seen }, body))}
    />
  );
}
