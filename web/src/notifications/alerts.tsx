import { Button, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { steps } from '../people/steps';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { AlertForm, settingsOf, type WithSettings } from './alert-form';
import { notifications, type Alert } from './queries';
import { OnOff } from './ways';

/** Alerts shows the groups of events that are mailed if no kinds are selected for mails. */
export function Alerts() {
  const { t } = useTranslation();
  const may = useMay();
  const alerts = useQuery(notifications.alerts);
  const [edited, edit] = useState<WithSettings>();
  const [change, setChange] = useState<Change>();
  const flip = (a: Alert) => setChange(enable(a, a.status !== 'enabled', t(a.status === 'enabled' ? 'notice.disable' : 'notice.enable', { name: a.alert })));
  return (
    <>
      <Text size="sm" c="dimmed">
        {t('notice.alerts_about')}
      </Text>
      <QueryView of={alerts}>
        {(all) => (
          <DataTable
            label={t('notice.alerts')}
            rows={all}
            id={(a) => a.alert}
            empty=""
            minWidth={680}
            columns={[
              { head: t('notice.alert'), cell: (a) => <span className="line">{a.alert}</span> },
              { head: t('notice.about'), cell: (a) => `${t(`alert.${a.alert}`, { defaultValue: a.description })} ${a.active === 'true' ? '' : t('notice.unnoticed')}` },
              { head: t('notice.state'), cell: (a) => <OnOff on={a.status === 'enabled'} /> },
            ]}
            actions={(a) => (
              <>
                {a.alert in settingsOf && (
                  <Button size="compact-sm" variant="default" {...may.button('notification.modify')} aria-label={`${t('tab.settings')}: ${a.alert}`} onClick={() => edit(a.alert as WithSettings)}>
                    {t('tab.settings')}
                  </Button>
                )}
                <Button size="compact-sm" variant="default" {...may.button('notification.action')} aria-label={t(a.status === 'enabled' ? 'notice.disable' : 'notice.enable', { name: a.alert })} onClick={() => flip(a)}>
                  {t(a.status === 'enabled' ? 'notice.disable_short' : 'notice.enable_short')}
                </Button>
              </>
            )}
          />
        )}
      </QueryView>
      {edited && <AlertForm alert={edited} close={() => edit(undefined)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </>
  );
}

function enable(a: Alert, on: boolean, title: string): Change {
  const word = on ? 'enable' : 'disable';
  return steps(title, [{ command: `sluice notification ${word} ${a.alert}`, method: 'POST', parts: ['system', 'notifications', 'alerts', a.alert, 'actions'], sent: { action: word } }], `- ${a.alert}: ${a.status}\n+ ${a.alert}: ${word}d`);
}
