import { Modal, NavLink, ScrollArea, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState, type KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { queries } from '../api/queries';
import { pages } from './layout';

const most = 12;

/** Palette finds any page or farm by a few letters. */
export default function Palette({ opened, close }: { opened: boolean; close: () => void }) {
  const { t } = useTranslation();
  return (
    <Modal opened={opened} onClose={close} transitionProps={{ duration: 0 }} title={t('palette.title')} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      <Finder close={close} />
    </Modal>
  );
}

function Finder({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const go = useNavigate();
  const farms = useQuery(queries.farms).data?.farms;
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const all = useMemo(
    () => [
      ...pages.map((p) => ({ label: t(p.word), hint: t('palette.page'), run: () => go({ to: p.to }) })),
      ...(farms ?? []).map((f) => ({
        label: f.farmname,
        hint: `${f.profile} ${f.vip}:${f.vport}`,
        run: () => go({ to: '/farms/$farm', params: { farm: f.farmname } }),
      })),
    ],
    [farms, go, t],
  );
  const wanted = text.trim().toLowerCase();
  const found = all.filter((a) => `${a.label} ${a.hint}`.toLowerCase().includes(wanted)).slice(0, most);
  const chosen = Math.min(at, found.length - 1);
  const take = (i: number) => {
    close();
    void found[i]?.run();
  };
  const press = (e: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step !== undefined) {
      e.preventDefault();
      setAt(Math.max(0, Math.min(found.length - 1, chosen + step)));
    } else if (e.key === 'Enter') {
      e.preventDefault();
      take(chosen);
    }
  };
  return (
    <>
      <TextInput
        data-autofocus
        aria-label={t('palette.title')}
        placeholder={t('palette.hint')}
        value={text}
        onKeyDown={press}
        onChange={(e) => {
          setText(e.currentTarget.value);
          setAt(0);
        }}
      />
      <ScrollArea.Autosize mah="50vh" mt="xs">
        {found.map((a, i) => (
          <NavLink key={`${a.label} ${a.hint}`} component="button" label={a.label} description={a.hint} active={i === chosen} variant="filled" onClick={() => take(i)} />
        ))}
        {found.length === 0 && (
          <Text c="dimmed" size="sm" p="xs">
            {t('palette.nothing')}
          </Text>
        )}
      </ScrollArea.Autosize>
    </>
  );
}
