import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import i18next from 'i18next';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, body } from '../api/client';
import { failed } from '../ui/notify';

/**
 * The number of seconds for which a change can be undone. They do not count down while the pointer or the focus is on
 * the offer.
 */
const offered = 10;

/** Rolls back to the revision before the given one, unless another one followed. */
export const undo = (revision: number) =>
  body(api.POST('/history/rollback', { params: { header: { 'If-Match': `"${revision}"` } }, body: { revision: String(revision - 1) } }));

/** Reports a change, and offers for a while to undo its revision. */
export function offerUndo(message: string, revision: number, undone: () => void) {
  offerBack(`undo ${revision}`, message, () => undo(revision), i18next.t('undo.done', { revision }), undone);
}

/** Offers for a while to undo an action; said is the message. */
export function offerBack(id: string, message: string, takeBack: () => Promise<unknown>, said: string, undone: () => void) {
  const close = () => notifications.hide(id);
  const back = () =>
    void takeBack()
      .then(() => notifications.show({ message: said, color: 'green', closeButtonProps: { 'aria-label': i18next.t('palette.close') } }), failed)
      .finally(() => (close(), undone()));
  notifications.show({ id, message: <Offer message={message} back={back} close={close} />, color: 'green', autoClose: false, closeButtonProps: { 'aria-label': i18next.t('palette.close') } });
}

function Offer({ message, back, close }: { message: string; back: () => void; close: () => void }) {
  const { t } = useTranslation();
  const [left, setLeft] = useState(offered);
  const [held, hold] = useState(false);
  const [going, go] = useState(false);
  useEffect(() => {
    if (held || going) return;
    if (left === 0) {
      close();
      return;
    }
    const timer = setTimeout(() => setLeft(left - 1), 1000);
    return () => clearTimeout(timer);
  }, [left, held, going, close]);
  const on = () => hold(true);
  const off = () => hold(false);
  return (
    <Group justify="space-between" wrap="nowrap" onMouseEnter={on} onMouseLeave={off} onFocus={on} onBlur={off}>
      <Text size="sm">{message}</Text>
      <Button size="compact-sm" variant="default" loading={going} onClick={() => (go(true), back())}>
        {t('undo.do')}
        <span aria-hidden className="number">
          &nbsp;({left})
        </span>
      </Button>
    </Group>
  );
}
