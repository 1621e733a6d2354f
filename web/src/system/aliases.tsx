import { Box, Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { list } from '../api/files';
import { queries } from '../api/queries';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { FormDrawer } from '../form/drawer';
import { useMay } from '../session/may';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { createAlias, removeAlias, setAlias, type AliasKind } from './actions';

type Alias = { id: string; alias: string };

const schemaOf = { backends: 'backend_alias', interfaces: 'interface_alias' };

/** Aliases shows the operators' names for backend addresses and interfaces. */
export function Aliases() {
  return (
    <Stack>
      <AliasList kind="backends" />
      <AliasList kind="interfaces" />
    </Stack>
  );
}

function AliasList({ kind }: { kind: AliasKind }) {
  const { t } = useTranslation();
  const may = useMay();
  const aliases = useQuery({ queryKey: ['aliases', kind], queryFn: () => list<Alias>('aliases', kind) });
  const schemas = useQuery(queries.schemas).data;
  const [edited, edit] = useState<Alias | 'new'>();
  const [change, setChange] = useState<Change>();
  const title = t(`aliases.${kind}`);
  const fresh = edited === 'new';
  return (
    <Card withBorder p={0} component="section" aria-label={title}>
      <Group p="md" pb="xs" justify="space-between">
        <div>
          <Title order={2} size="h4">
            {title}
          </Title>
          <Text size="sm" c="dimmed">
            {t(`aliases.${kind}_about`)}
          </Text>
        </div>
        <Button size="xs" {...may.button('alias.modify')} onClick={() => edit('new')} aria-label={`${t('form.add')}: ${title}`}>
          {t('form.add')}
        </Button>
      </Group>
      {!aliases.data && (
        <Box px="md" pb="md">
          <QueryView of={aliases}>{() => null}</QueryView>
        </Box>
      )}
      {aliases.data && (
        <DataTable
          label={title}
          rows={aliases.data}
          id={(a) => a.id}
          empty={t('aliases.none')}
          minWidth={420}
          columns={[
            { head: t('aliases.of'), cell: (a) => a.id },
            { head: t('aliases.alias'), cell: (a) => a.alias },
          ]}
          actions={(a) => (
            <>
              <Button size="compact-sm" variant="default" {...may.button('alias.modify')} onClick={() => edit(a)} aria-label={`${t('form.edit')}: ${a.id}`}>
                {t('form.edit')}
              </Button>
              <Button size="compact-sm" variant="default" {...may.button('alias.delete')} onClick={() => setChange(removeAlias(kind, a.id, t('aliases.delete', { name: a.id })))} aria-label={t('aliases.delete', { name: a.id })}>
                {t('form.delete')}
              </Button>
            </>
          )}
        />
      )}
      {edited && (
        <FormDrawer
          title={fresh ? title : t('aliases.alias_of', { name: edited.id })}
          close={() => edit(undefined)}
          id={`alias ${kind} ${fresh ? '' : edited.id}`}
          schema={schemas?.[schemaOf[kind]]}
          when={fresh ? 'create' : 'update'}
          seen={fresh ? {} : edited}
          without={fresh ? [] : ['id']}
          change={(sent) => (fresh ? createAlias(kind, sent, t('aliases.alias_of', { name: String(sent.id ?? '') })) : setAlias(kind, edited.id, String(sent.alias ?? ''), t('aliases.alias_of', { name: edited.id })))}
        />
      )}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </Card>
  );
}
