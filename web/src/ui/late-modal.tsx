import type { ModalProps } from '@mantine/core';
import { late } from './late';

const Modal = late<ModalProps>(async () => (await import('./dialog')).Modal);

/** LateModal is a dialog whose code is loaded when it opens, because most visits do not open it. */
export function LateModal(props: ModalProps) {
  return props.opened && <Modal {...props} />;
}
