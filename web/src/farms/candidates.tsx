import { Text, VisuallyHidden } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { components } from '../api/schema';
import { DataTable } from '../ui/data-table';
import { State } from '../ui/state';

/** Candidates shows the possible backends of a request, with the arguments for and against each. */
export function Candidates({ of }: { of: components['schemas']['Balance'] }) {
  const { t } = useTranslation();
  return (
    <section aria-label={t('explain.candidates')}>
      <Text fw={600} size="sm">
        {t('explain.candidates')}
      </Text>
      <Text size="sm" c="dimmed">
        {t('explain.algorithm', { algorithm: of.algorithm, level: of.priority_level })}
        {of.random && ` ${t('explain.drawn')}`}
        {of.pinned && ` ${t('explain.pinned')}`}
      </Text>
      <DataTable
        label={t('explain.candidates')}
        rows={of.backends ?? []}
        id={(b) => String(b.id)}
        empty={t('explain.no_candidate')}
        columns={[
          {
            head: t('explain.chosen'),
            cell: (b) => (
              <>
                <span aria-hidden>{b.chosen ? '✓' : b.might ? '(✓)' : '–'}</span>
                <VisuallyHidden>{t(b.chosen ? 'explain.is_chosen' : b.might ? 'explain.might' : 'explain.not_chosen')}</VisuallyHidden>
              </>
            ),
          },
          {
            head: t('explain.backend'),
            cell: (b) => (
              <>
                {b.alias && <b>{b.alias} </b>}
                {b.address}
              </>
            ),
          },
          { head: t('farms.state'), cell: (b) => <State of={b.status} /> },
          { head: t('explain.weight'), cell: (b) => b.weight, number: true },
          { head: t('explain.priority'), cell: (b) => b.priority, number: true },
          { head: t('explain.in_flight'), cell: (b) => (b.limit ? `${b.in_flight} / ${b.limit}` : b.in_flight), number: true },
          { head: t('explain.why'), cell: (b) => [b.reason, b.cost].filter(Boolean).join('; ') },
        ]}
      />
      {!!of.backends_not_shown && (
        <Text size="sm" c="dimmed">
          {t('explain.more', { count: of.backends_not_shown })}
        </Text>
      )}
    </section>
  );
}
