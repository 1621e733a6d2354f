import { Button, Card, Loader, Modal, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Wide } from '../ui/wide';
import { api } from '../api/client';
import { queries } from '../api/queries';
import { call, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { Diff } from '../change/diff';
import { useMay } from '../session/may';
import { Problem } from '../ui/problem';
import { when } from '../ui/time';

/** HistoryPage is every revision: who changed what, and the way back. */
export function HistoryPage() {
  const { t } = useTranslation();
  const may = useMay();
  const history = useQuery(queries.history);
  const [looked, look] = useState<number>();
  const [change, setChange] = useState<Change>();
  const revisions = history.data?.params ?? [];
  const newest = revisions.reduce((n, r) => Math.max(n, r.number), 0);
  return (
    <Stack>
      <Title order={1} size="h2">
        {t('nav.history')}
      </Title>
      {history.error && <Problem error={history.error} again={() => void history.refetch()} />}
      {history.isPending && <Loader size="sm" aria-label="…" />}
      {history.isSuccess && revisions.length === 0 && <Text c="dimmed">{t('history.empty')}</Text>}
      {revisions.length > 0 && (
        <Card withBorder p={0}>
          <Wide label={t('nav.history')} minWidth={640}>
            <Table highlightOnHover verticalSpacing="xs">
              <Table.Thead>
                <Table.Tr>
                  {['history.number', 'history.when', 'history.who', 'history.what'].map((w) => (
                    <Table.Th key={w}>{t(w)}</Table.Th>
                  ))}
                  <Table.Th>
                    <Text span fz={0}>
                      {t('history.actions')}
                    </Text>
                  </Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {[...revisions]
                  .sort((a, b) => b.number - a.number)
                  .map((r) => (
                    <Table.Tr key={r.number}>
                      <Table.Td className="number">{r.number}</Table.Td>
                      <Table.Td>{when(r.time)}</Table.Td>
                      <Table.Td className="text">
                        {r.author} ({r.source})
                      </Table.Td>
                      <Table.Td className="text">{r.comment}</Table.Td>
                      <Table.Td>
                        <Button.Group>
                          <Button size="compact-sm" variant="default" onClick={() => look(r.number)}>
                            {t('history.difference')}
                          </Button>
                          {r.number !== newest && (
                            <Button size="compact-sm" variant="default" disabled={!may('history.rollback')} onClick={() => setChange(rollback(r.number, t('history.back_to', { number: r.number })))}>
                              {t('history.back')}
                            </Button>
                          )}
                        </Button.Group>
                      </Table.Td>
                    </Table.Tr>
                  ))}
              </Table.Tbody>
            </Table>
          </Wide>
        </Card>
      )}
      {looked !== undefined && <Difference of={looked} close={() => look(undefined)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Stack>
  );
}

function rollback(number: number, title: string): Change {
  const sent = { revision: String(number) };
  return {
    title,
    command: `sluice rollback ${number}`,
    call: call('POST', ['history', 'rollback'], sent),
    send: (query) => api.POST('/history/rollback', { params: { query }, body: sent }),
  };
}

function Difference({ of, close }: { of: number; close: () => void }) {
  const { t } = useTranslation();
  const diff = useQuery(queries.diff(String(of), String(of - 1)));
  return (
    <Modal opened onClose={close} size="lg" title={t('history.of', { number: of })} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      {diff.isPending && <Loader size="sm" aria-label="…" />}
      {diff.error && <Problem error={diff.error} />}
      {diff.data && <Diff text={diff.data.params.diff} />}
    </Modal>
  );
}
