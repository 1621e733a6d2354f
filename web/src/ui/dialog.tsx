import { Drawer as MantineDrawer, Modal as MantineModal, type DrawerProps, type ModalProps } from '@mantine/core';
import { useEffect, useLayoutEffect, useState } from 'react';

/** Modal is a dialog that takes the focus when it opens, and gives it back to where it came from. */
export function Modal({ onClose, ...props }: ModalProps) {
  useFocusReturn();
  return <MantineModal returnFocus={false} onClose={useTopmost(onClose)} {...props} />;
}

/** Drawer is such a dialog beside the page. */
export function Drawer({ onClose, ...props }: DrawerProps) {
  useFocusReturn();
  return <MantineDrawer returnFocus={false} onClose={useTopmost(onClose)} {...props} />;
}

type Opened = { number: number; open: boolean };

/** The dialogs that are open, numbered as they opened. */
const dialogs = new Set<Opened>();
let opened = 0;

/**
 * Returns close for the topmost dialog only, since Escape is heard by all that are open. The topmost counts until the
 * event is over: React removes it before the dialogs below hear of the same key.
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

/** Where the focus was before the first of several dialogs that follow each other. */
let outside: HTMLElement | undefined;

/** How long one dialog may take to follow another, in milliseconds. */
const follow = 100;

/** useFocusReturn puts the focus back when a dialog goes. Mantine does that only for dialogs that stay mounted. */
function useFocusReturn() {
  const [from] = useState(originOf);
  useEffect(() => {
    if (from && !from.closest('[role=dialog]')) outside = from;
    return () => void setTimeout(() => restore(from), follow);
  }, [from]);
}

/** What opened a dialog: an item of a menu goes with the menu, so it is the menu's button. */
function originOf(): HTMLElement | undefined {
  const active = document.activeElement;
  const menu = active?.closest('[role=menu]');
  const button = menu && document.querySelector<HTMLElement>(`[aria-controls="${CSS.escape(menu.id)}"]`);
  return button ?? (active instanceof HTMLElement && active !== document.body ? active : undefined);
}

/** Focuses the origin or, if it has gone, the page; a dialog that is open keeps the focus. */
function restore(from: HTMLElement | undefined) {
  const open = document.querySelector('[role=dialog]');
  const usable = (e: HTMLElement | undefined) => e !== undefined && e.isConnected && !e.matches(':disabled') && (!open || e.closest('[role=dialog]') !== null);
  if (document.activeElement && document.activeElement !== document.body) return; // somebody moved on
  const to = [from, outside].find(usable) ?? (open ? undefined : document.getElementById('main'));
  to?.focus();
}
