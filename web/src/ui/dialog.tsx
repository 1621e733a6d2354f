import { Drawer as MantineDrawer, Modal as MantineModal, type DrawerProps, type ModalProps } from '@mantine/core';
import { useEffect, useLayoutEffect, useState } from 'react';

/** Modal is a dialog that takes the focus when it opens and returns it when it closes. */
export function Modal({ onClose, ...props }: ModalProps) {
  useFocusReturn();
  return <MantineModal returnFocus={false} onClose={useTopmost(onClose)} {...props} />;
}

/** Drawer is the same at the side of the page. */
export function Drawer({ onClose, ...props }: DrawerProps) {
  useFocusReturn();
  return <MantineDrawer returnFocus={false} onClose={useTopmost(onClose)} {...props} />;
}

type Opened = { number: number; open: boolean };

/** The open dialogs, numbered in the order of opening. */
const dialogs = new Set<Opened>();
let opened = 0;

/**
 * Returns a close function that works for the topmost dialog only, because all open dialogs get the Escape key. The
 * topmost dialog remains so until the event ends: React removes it before the dialogs below get the same event.
 */
function useTopmost(close: () => void): () => void {
  const [self] = useState<Opened>(() => ({ number: ++opened, open: false }));
  useLayoutEffect(() => {
    self.open = true;
    dialogs.add(self);
    return () => {
      self.open = false;
      setTimeout(() => self.open || dialogs.delete(self));
    };
  }, [self]);
  return () => {
    if ([...dialogs].every((other) => other.number <= self.number)) close();
  };
}

/** The focused element before the first of several consecutive dialogs. */
let outside: HTMLElement | undefined;

/** The maximum time between consecutive dialogs, in milliseconds. */
const follow = 100;

/** useFocusReturn restores the focus when a dialog closes. Mantine does that only for dialogs that stay mounted. */
function useFocusReturn() {
  const [from] = useState(originOf);
  useEffect(() => {
    if (from && !from.closest('[role=dialog]')) outside = from;
    return () => void setTimeout(() => restore(from), follow);
  }, [from]);
}

/** The element that opened a dialog. A menu item disappears with its menu, so it is the menu's button. */
function originOf(): HTMLElement | undefined {
  const active = document.activeElement;
  const menu = active?.closest('[role=menu]');
  const button = menu && document.querySelector<HTMLElement>(`[aria-controls="${CSS.escape(menu.id)}"]`);
  return button ?? (active instanceof HTMLElement && active !== document.body ? active : undefined);
}

/** Focuses the origin or, if that was removed, the page. An open dialog keeps the focus. */
function restore(from: HTMLElement | undefined) {
  const open = document.querySelector('[role=dialog]');
  const usable = (e: HTMLElement | undefined) => e !== undefined && e.isConnected && !e.matches(':disabled') && (!open || e.closest('[role=dialog]') !== null);
  if (document.activeElement && document.activeElement !== document.body) return; // the user has moved on
  const to = [from, outside].find(usable) ?? (open ? undefined : document.getElementById('main'));
  to?.focus();
}
