import { Alert, Badge, Button, Card, Group, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { removal } from '../people/steps';
import { useMay } from '../session/may';
import { DataTable } from '../ui/data-table';
import { Problem } from '../ui/problem';
import { TestButton, type Outcome } from './test-button';
import type { Way } from './way';
import { WayForm } from './way-form';

/** Ways shows the notification channels, the delivery of messages, and a test of each. */
export function Ways({ ways }: { ways: Way[] }) {
  const { t } = useTranslation();
  const may = useMay();
  const [edited, edit] = useState<string>(); // its key; '' for a new one
  const [change, setChange] = useState<Change>();
  const [outcome, tell] = useState<Outcome>();
  const editedWay = ways.find((w) => keyOf(w) === edited); // the current one, including changes by others
  const title = (w: Way) => w.name || t(`way.${w.what}`);
  return (
    <Card withBorder component="section" aria-labelledby="ways">
      <Group justify="space-between" mb="xs">
        <Title order={2} size="h4" id="ways">
          {t('notice.ways')}
        </Title>
        <Button size="xs" {...may.button('notification.modify')} onClick={() => edit('')}>
          {t('notice.add')}
        </Button>
      </Group>
      <DataTable
        label={t('notice.ways')}
        rows={ways}
        id={keyOf}
        empty=""
        minWidth={820}
        columns={[
          { head: t('notice.way'), cell: (w) => <Name of={w} title={title(w)} /> },
          { head: t('notice.state'), cell: (w) => <OnOff on={w.on} /> },
          { head: t('notice.events'), cell: (w) => w.kinds.join(', ') || t(w.what === 'email' ? 'notice.of_alerts' : 'notice.all') },
          { head: t('notice.severity'), cell: (w) => t(`least.${w.severity}`) },
          { head: t('notice.sent'), cell: (w) => (w.counts ? t('notice.counts', w.counts) : '–') },
        ]}
        actions={(w) => (
          <>
            {(w.what === 'email' || w.what === 'webhook') && <TestButton way={w} title={title(w)} off={may.button('notification.test')} tell={tell} />}
            <Button size="compact-sm" variant="default" {...may.button('notification.modify')} aria-label={`${t('form.edit')} ${title(w)}`} onClick={() => edit(keyOf(w))}>
              {t('form.edit')}
            </Button>
            {w.what === 'webhook' && (
              <Button
                size="compact-sm"
                variant="default"
                {...may.button('notification.modify')}
                aria-label={`${t('form.delete')} ${w.name}`}
                onClick={() => setChange(removal(t('notice.delete', { name: w.name }), `sluice notification webhook delete ${w.name}`, ['system', 'notifications', 'methods', 'webhooks', w.name], `webhook: ${w.name}`))}
              >
                {t('form.delete')}
              </Button>
            )}
          </>
        )}
      />
      {outcome?.error !== undefined && <Problem error={outcome.error} />}
      {outcome?.answer !== undefined && (
        <Alert color="green" role="status" m="md">
          {t('notice.taken', { name: outcome.title, answer: outcome.answer })}
        </Alert>
      )}
      {(edited === '' || editedWay) && <WayForm way={editedWay} title={editedWay ? t('notice.edit', { name: title(editedWay) }) : t('notice.add')} close={() => edit(undefined)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Card>
  );
}

const keyOf = (w: Way) => `${w.what} ${w.name}`;

function Name({ of, title }: { of: Way; title: string }) {
  const { t } = useTranslation();
  return (
    <>
      <Text span size="sm" fw={600}>
        {title}
      </Text>
      <Text size="xs" c="dimmed" className="text">
        {of.to || t(`way.${of.what}_about`)}
      </Text>
      {of.problem && (
        <Text size="xs" className="text problem">
          {of.problem}
        </Text>
      )}
    </>
  );
}

export function OnOff({ on }: { on: boolean }) {
  const { t } = useTranslation();
  return (
    <Badge color={on ? 'cyan.9' : 'gray.8'} tt="none" size="sm">
      {t(on ? 'notice.on' : 'notice.off')}
    </Badge>
  );
}
