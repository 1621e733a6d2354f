import { Code, List, Stack, Text, VisuallyHidden } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { components } from '../api/schema';
import { DataTable } from '../ui/data-table';
import { duration } from '../ui/numbers';
import { State } from '../ui/state';

type Explained = components['schemas']['Explanation'];
type Candidate = components['schemas']['Candidate'];

/** Answer shows the answer to a query, and how it came about. */
export function Answer({ of: { passport, result, from } }: { of: Explained }) {
  const { t } = useTranslation();
  if (!passport) return null;
  const sections = [
    ['passport.answer', passport.records],
    ['passport.authority', passport.authority],
    ['passport.additional', passport.additional],
  ] as const;
  return (
    <Stack gap="sm" mt="md" component="section" aria-label={t('passport.answer')}>
      <div>
        <Text fw={650} className="text">
          {passport.rcode} · {passport.question}
        </Text>
        <Text size="sm" className="text">
          {t('passport.why', { from, reason: result.reason })}
        </Text>
      </div>
      {passport.path && passport.path.length > 0 && (
        <List size="sm" spacing={2}>
          {passport.path.map((s, i) => (
            <List.Item key={i} className="text">
              {t(s.type ? 'passport.step' : 'passport.nothing', { name: s.name, type: s.type, zone: s.zone })}
            </List.Item>
          ))}
        </List>
      )}
      {sections.map(
        ([title, records]) =>
          records &&
          records.length > 0 && (
            <div key={title}>
              <Text size="sm" fw={600}>
                {t(title)}
              </Text>
              <Code block tabIndex={0}>
                {records.join('\n')}
              </Code>
            </div>
          ),
      )}
      {passport.place && <Text size="sm">{t('passport.place', { place: passport.place })}</Text>}
      {passport.scope > 0 && <Text size="sm">{t('passport.scope', { bits: passport.scope })}</Text>}
      {passport.truncated && <Text size="sm">{t('passport.truncated')}</Text>}
      {passport.service && <Choice of={passport} />}
    </Stack>
  );
}

/** Choice shows the backends of the service that chose the addresses, and why each was chosen or not. */
function Choice({ of: passport }: { of: NonNullable<Explained['passport']> }) {
  const { t } = useTranslation();
  return (
    <div>
      <Text size="sm" fw={600} className="text">
        {t('passport.service', { name: passport.service, algorithm: passport.algorithm })}
      </Text>
      <DataTable
        label={t('passport.candidates')}
        rows={passport.candidates ?? []}
        id={(c) => String(c.id)}
        empty={t('passport.no_candidate')}
        columns={[
          {
            head: t('passport.taken'),
            cell: (c) => (
              <>
                <span aria-hidden>{c.taken ? '✓' : '–'}</span>
                <VisuallyHidden>{t(c.taken ? 'passport.yes' : 'passport.no')}</VisuallyHidden>
              </>
            ),
          },
          { head: t('backends.backend'), cell: (c) => c.address },
          { head: t('farms.state'), cell: (c) => <State of={c.status} /> },
          { head: t('backends.weight'), cell: (c) => c.weight, number: true },
          ...(passport.algorithm === 'geo' ? [{ head: t('passport.near'), cell: (c: Candidate) => t(c.near ? 'passport.yes' : 'passport.no') }] : []),
          ...(passport.algorithm === 'nearest'
            ? [{ head: t('passport.distance'), cell: (c: Candidate) => (c.distance === undefined ? '' : `${c.distance} km`), number: true }]
            : []),
          ...(passport.algorithm === 'fastest'
            ? [{ head: t('passport.latency'), cell: (c: Candidate) => duration(c.latency === undefined ? undefined : c.latency / 1000), number: true }]
            : []),
          ...(passport.algorithm === 'load' ? [{ head: t('passport.load'), cell: (c: Candidate) => c.load ?? '', number: true }] : []),
          { head: t('passport.reason'), cell: (c) => c.reason },
        ]}
      />
    </div>
  );
}
