import { Badge, Button, Card, CloseButton, Group, Loader, Stack, Title } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { write, type Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { DataTable } from '../ui/data-table';
import { Problem } from '../ui/problem';
import { when } from '../ui/time';
import { Difference } from './difference';
import { NameRevision } from './name';

/** HistoryPage shows every revision with its author and changes, and allows rollbacks. */
export function HistoryPage() {
  const { t } = useTranslation();
  const may = useMay();
  const history = useInfiniteQuery(queries.history);
  const [looked, look] = useState<number>();
  const [named, name] = useState<number>();
  const [change, setChange] = useState<Change>();
  const revisions = history.data?.pages.flatMap((page) => page.params ?? []) ?? [];
  const newest = revisions.reduce((n, r) => Math.max(n, r.number), 0);
  return (
    <Stack>
      <Title order={1} size="h2">
        {t('nav.history')}
      </Title>
      {history.error && <Problem error={history.error} again={() => void history.refetch()} />}
      {history.isPending && <Loader size="sm" aria-label="…" />}
      {history.data && (
        <Card withBorder p={0}>
          <DataTable
            label={t('nav.history')}
            rows={[...revisions].sort((a, b) => b.number - a.number)}
            id={(r) => String(r.number)}
            empty={t('history.empty')}
            columns={[
              { head: t('history.number'), cell: (r) => r.number, number: true },
              { head: t('history.when'), cell: (r) => when(r.time) },
              { head: t('history.who'), cell: (r) => `${r.author} (${r.source})` },
              {
                head: t('history.what'),
                cell: (r) => (
                  <>
                    {r.comment}
                    {r.tags?.map((tag) => (
                      <Badge key={tag} variant="default" tt="none" ml={6} rightSection={<CloseButton size="xs" {...may.button('history.rollback')} aria-label={t('history.unname', { name: tag })} onClick={() => setChange(unname(tag, t('history.unname', { name: tag })))} />}>
                        {tag}
                      </Badge>
                    ))}
                  </>
                ),
              },
            ]}
            actions={(r) => (
              <>
                <Button size="compact-sm" variant="default" onClick={() => look(r.number)}>
                  {t('history.difference')}
                </Button>
                <Button size="compact-sm" variant="default" {...may.button('history.rollback')} onClick={() => name(r.number)} aria-label={t('history.name_of', { number: r.number })}>
                  {t('history.name')}
                </Button>
                {r.number !== newest && (
                  <Button size="compact-sm" variant="default" {...may.button('history.rollback')} onClick={() => setChange(rollback(r.number, t('history.back_to', { number: r.number })))}>
                    {t('history.back')}
                  </Button>
                )}
              </>
            )}
          />
          {history.hasNextPage && (
            <Group justify="center" p="sm">
              <Button variant="default" loading={history.isFetchingNextPage} onClick={() => void history.fetchNextPage()}>
                {t('history.older')}
              </Button>
            </Group>
          )}
        </Card>
      )}
      {looked !== undefined && <Difference of={looked} all={revisions.map((r) => r.number)} close={() => look(undefined)} />}
      {named !== undefined && <NameRevision of={named} close={() => name(undefined)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Stack>
  );
}

/** Removes a tag from its revision. */
function unname(tag: string, title: string): Change {
  return { ...write(title, `sluice tag delete ${tag}`, 'DELETE', ['history', 'tags', tag]), difference: `- ${tag}` };
}

function rollback(number: number, title: string): Change {
  return write(title, `sluice rollback ${number}`, 'POST', ['history', 'rollback'], { revision: String(number) });
}
