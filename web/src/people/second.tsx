import { Group, Loader, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useForgetting } from '../form/draft';
import { showOnce } from '../session/shown-once';
import { QueryView } from '../ui/query-view';
import { Boundary } from '../ui/boundary';
import { lazyComponent } from '../ui/lazy-component';
import { done } from '../ui/notify';
import { actOnSecond, enrolSecond, people, type SecondAction } from './queries';
import { SecretForm } from './secret-form';
import { OneTimeText } from '../ui/one-time-text';

const QR = lazyComponent(async () => (await import('./qr')).QR, <Loader size="sm" aria-label="…" />);

/** SecondFactor is the user's own second factor: enrolment, confirmation, renewal and removal. */
export function SecondFactor() {
  const { t } = useTranslation();
  const client = useQueryClient();
  const second = useQuery(people.second);
  const enrol = useMutation({ mutationFn: enrolSecond, onSuccess: () => client.invalidateQueries({ queryKey: people.second.queryKey }) });
  const act = useMutation({
    mutationFn: actOnSecond,
    onSuccess: ({ codes }, { action }) => {
      if (codes) showOnce({ title: t('second.codes'), about: t(action === 'confirm' ? 'second.codes_first' : 'second.codes_new'), label: t('second.codes'), text: codes.join('\n') });
      else done(t('second.off_now'));
      enrol.reset();
      void client.invalidateQueries({ queryKey: ['people'] });
    },
  });
  useForgetting(enrol.reset);
  return (
    <QueryView of={second}>
      {(is) => (
        <Stack gap="sm">
          <Text size="sm">{is.status === 'on' ? t('second.on', { count: is.recovery_codes }) : t(`second.${is.status}`)}</Text>
          {enrol.data && (
            <>
              <Text size="sm">{t('second.scan')}</Text>
              <Boundary>
                <QR text={enrol.data.uri} label={t('second.qr')} />
              </Boundary>
              <OneTimeText label={t('second.secret')} text={enrol.data.secret} />
              <OneTimeText label={t('second.uri')} text={enrol.data.uri} />
            </>
          )}
          {is.status !== 'off' && is.status !== 'on' && (
            <SecretForm key="confirm" fields={['code']} button={t('second.confirm')} error={act.error} pending={act.isPending} send={({ code }) => act.mutate({ action: 'confirm', code })} />
          )}
          {is.status !== 'on' && !enrol.data && (
            <SecretForm key="enrol" fields={['password']} button={t('second.enrol')} error={enrol.error} pending={enrol.isPending} send={({ password }) => enrol.mutate(password)} />
          )}
          {is.status === 'on' && <On act={act.mutate} error={act.error} of={act.variables?.action} pending={act.isPending} />}
        </Stack>
      )}
    </QueryView>
  );
}

type OnProps = { act: (sent: SecondAction) => void; error: unknown; of?: string; pending: boolean };

/** On shows the actions for an active second factor. */
function On({ act, error, of, pending }: OnProps) {
  const { t } = useTranslation();
  const last = (action: string) => (of === action ? error : undefined);
  return (
    <Group align="start" grow preventGrowOverflow={false}>
      <SecretForm fields={['code']} button={t('second.renew')} error={last('recovery')} pending={pending && of === 'recovery'} send={({ code }) => act({ action: 'recovery', code })} />
      <SecretForm fields={['password', 'code']} button={t('second.disable')} error={last('disable')} pending={pending && of === 'disable'} send={({ password, code }) => act({ action: 'disable', password, code })} />
    </Group>
  );
}
