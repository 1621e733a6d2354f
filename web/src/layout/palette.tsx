import { NavLink, ScrollArea, Text, TextInput } from '@mantine/core';
import { useState, type KeyboardEvent } from 'react';
import { useTranslation } from 'react-i18next';
import type { Change } from '../change/change';
import { useFindable } from './findable';
import { match } from './match';
import { Modal } from '../ui/dialog';

const most = 12;

type Props = { opened: boolean; close: () => void; show: (c: Change) => void };

/** Palette searches pages, objects and actions. */
export default function Palette({ opened, close, show }: Props) {
  const { t } = useTranslation();
  return (
    <Modal opened={opened} onClose={close} transitionProps={{ duration: 0 }} title={t('palette.title')} closeButtonProps={{ 'aria-label': t('palette.close') }}>
      <Finder close={close} show={show} />
    </Modal>
  );
}

function Finder({ close, show }: Omit<Props, 'opened'>) {
  const { t } = useTranslation();
  const all = useFindable(show);
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const found = match(all, text).slice(0, most);
  const chosen = Math.min(at, found.length - 1);
  const take = (i: number) => {
    close();
    found[i]?.run();
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
