import { Button, Card, Group, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { Change } from '../change/change';
import { ChangeDialog } from '../change/dialog';
import { useMay } from '../session/may';
import { showOnce } from '../session/shown-once';
import { QueryView } from '../ui/query-view';
import { DataTable } from '../ui/data-table';
import { Problem } from '../ui/problem';
import { when } from '../ui/time';
import { makeKey, people } from './queries';
import { removal } from './steps';
import { Modal } from '../ui/dialog';

/** KeysPage shows the API keys of root for programs. */
export function KeysPage() {
  const { t } = useTranslation();
  const may = useMay();
  const keys = useQuery(people.keys);
  const [creating, create] = useState(false);
  const [change, setChange] = useState<Change>();
  return (
    <>
      <Group justify="space-between">
        <Text c="dimmed" size="sm" flex="1 1 16rem">
          {t('key.about')}
        </Text>
        <Button size="xs" {...may.button('root')} onClick={() => create(true)}>
          {t('key.add')}
        </Button>
      </Group>
      <QueryView of={keys}>
        {(all) => (
          <Card withBorder p={0}>
            <DataTable
              label={t('people.keys')}
              rows={all}
              id={(k) => String(k.id)}
              empty={t('key.none')}
              minWidth={480}
              columns={[
                { head: t('key.number'), cell: (k) => k.id },
                { head: t('key.comment'), cell: (k) => k.comment },
                { head: t('key.created'), cell: (k) => when(k.created) },
              ]}
              actions={(k) => (
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={t('key.delete', { number: k.id })}
                  onClick={() => setChange(removal(t('key.delete', { number: k.id }), `sluice key delete ${k.id}`, ['keys', k.id], `key: ${k.id} ${k.comment}`.trim()))}
                >
                  {t('form.delete')}
                </Button>
              )}
            />
          </Card>
        )}
      </QueryView>
      {creating && <NewKey close={() => create(false)} />}
      {change && <ChangeDialog change={change} close={() => setChange(undefined)} />}
    </>
  );
}

/** NewKey creates a key, which is shown only once. */
function NewKey({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const client = useQueryClient();
  const [comment, setComment] = useState('');
  const make = useMutation({
    mutationFn: () => makeKey(comment),
    onSuccess: (key) => {
      close();
      showOnce({ title: t('key.made', { number: key.id }), about: t('key.once'), label: t('key.key'), text: key.key });
      void client.invalidateQueries({ queryKey: people.keys.queryKey });
    },
  });
  const submit = (e: FormEvent) => {
    e.preventDefault();
    make.mutate();
  };
  return (
    <Modal opened onClose={close} title={t('key.add')} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      <form onSubmit={submit}>
        <Stack>
          {make.error && <Problem error={make.error} />}
          <TextInput name="comment" label={t('key.comment')} description={t('key.comment_about')} value={comment} onChange={(e) => setComment(e.currentTarget.value)} data-autofocus />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t('change.cancel')}
            </Button>
            <Button type="submit" loading={make.isPending}>
              {t('key.make')}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
