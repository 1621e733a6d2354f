import { Button } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { body, request } from '../api/client';
import type { Off } from '../session/may';
import type { Way } from './way';

/** The result of a test: the response of the receiver, or the error. */
export type Outcome = { title: string; answer?: string; error?: unknown };

type Props = { way: Way; title: string; off: Off; tell: (outcome?: Outcome) => void };

/** TestButton sends a message now and shows the result. */
export function TestButton({ way, title, off, tell }: Props) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const parts = ['system', 'notifications', 'methods', ...(way.what === 'webhook' ? ['webhooks', way.name] : ['email']), 'actions'];
  const test = useMutation({
    mutationFn: async () => (await body(request('POST', parts, { action: 'test' }))) as { params: { answer: string } },
    onMutate: () => tell(),
    onSuccess: ({ params }) => tell({ title, answer: params.answer }),
    onError: (error) => tell({ title, error }),
    onSettled: () => client.invalidateQueries({ queryKey: ['notifications'] }),
  });
  return (
    <Button size="compact-sm" variant="default" {...off} loading={test.isPending} aria-label={`${t('notice.test')} ${title}`} onClick={() => test.mutate()}>
      {t('notice.test')}
    </Button>
  );
}
